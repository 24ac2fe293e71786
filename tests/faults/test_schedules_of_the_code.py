"""Schedules of the code live with the code: deployed, reloaded, beside another application and beside an old host."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from holdfast import TaskManager, open_store
from tests.cli.commands import Cli
from tests.faults.process import PATIENCE, Pool

if TYPE_CHECKING:
    from holdfast_config import RedisSettings

pytestmark = pytest.mark.anyio

REMOVED = "a schedule was removed: the code no longer declares it"
FOREIGN = "another running application also declares this schedule: the store keeps the other declaration"
UNDECLARED = "no live worker declares this schedule of the code, and it still fires"
HANDLERS = """
from holdfast import Handlers

handlers = Handlers()


@handlers.default
async def handle(messages):
    return "done"
"""


class Hosts:
    """Each with its code in a folder, on one queue."""

    def __init__(self, settings: RedisSettings, folder: Path, stack: ExitStack, manager: TaskManager) -> None:
        self.manager = manager
        self.cli = Cli(folder, ("--redis-url", settings.url, "--queue-name", settings.queue))
        self._settings, self._folder, self._stack = settings, folder, stack

    def write(self, host: str, *ids: str, more: str = "") -> None:
        """The schedules that this host's code declares from now on."""
        place = self._folder / host
        place.mkdir(exist_ok=True)
        lines = [f"handlers.schedule({schedule_id!r}, every=3600, text='go')" for schedule_id in ids]
        (place / "agent.py").write_text("\n".join([HANDLERS, *lines, more]))

    def start(self, host: str, application: str | None, workers: int = 1) -> Pool:
        """It is not waited for: what it declares shows that it serves."""
        place = self._folder / host
        named = {} if application is None else {"application": application}
        pool = Pool(
            place,
            self._settings.url,
            handler="agent:handlers",
            app_dir=str(place),
            redis_url=self._settings.url,
            queue_name=self._settings.queue,
            workers=workers,
            **named,
        )
        self._stack.callback(pool.close)
        return pool

    async def until(self, *ids: str) -> None:
        """Wait until these are the schedules that there are."""
        with anyio.fail_after(PATIENCE):
            while set(await self.generations()) != set(ids):  # noqa: ASYNC110 - of other processes
                await anyio.sleep(0.02)

    async def until_owned(self, schedule_id: str, owner: str) -> None:
        with anyio.fail_after(PATIENCE):
            while (await self.manager.schedules.get(schedule_id)).definition.owner != owner:  # noqa: ASYNC110 - as above
                await anyio.sleep(0.02)

    async def generations(self) -> dict[str, int]:
        schedules = (await self.manager.schedules.list()).schedules
        return {schedule.definition.schedule_id: schedule.generation for schedule in schedules}


@pytest.fixture
async def hosts(redis_settings: RedisSettings, short_path: Path) -> AsyncIterator[Hosts]:
    async with open_store(redis_settings) as store:
        with ExitStack() as stack:
            yield Hosts(redis_settings, short_path, stack, TaskManager(store, queue=redis_settings.queue))


async def test_a_reload_removes_what_the_code_no_longer_declares_and_a_failed_one_changes_nothing(hosts: Hosts) -> None:
    hosts.write("one", "a", "b")
    pool = hosts.start("one", "shop", workers=2)
    await hosts.until("a", "b")
    hosts.write("one", "c", more="import nowhere\n")
    pool.send(signal.SIGHUP)
    pool.until("reload failed: the old code goes on serving")
    assert await hosts.generations() == {"a": 1, "b": 1}
    hosts.write("one", "a", "c")
    pool.send(signal.SIGHUP)
    assert pool.until(REMOVED)["schedule"] == "b"
    assert pool.lines(REMOVED)[0]["application"] == "shop"
    await hosts.until("a", "c")
    assert await hosts.generations() == {"a": 1, "c": 1}
    assert pool.stop() == 0


async def test_an_old_host_and_another_application_beside_a_deployment(hosts: Hosts) -> None:
    hosts.write("old", "a", "b")
    hosts.write("new", "a")
    hosts.write("other", "c")
    lasting = hosts.start("other", "bank"), hosts.start("new", "shop").ready(1)
    first = hosts.start("old", "shop")
    await hosts.until("a", "b", "c")
    assert first.stop() == 0
    await hosts.until("a", "c")
    second = hosts.start("old", "shop")
    await hosts.until("a", "b", "c")
    assert second.stop() == 0
    await hosts.until("a", "c")
    for pool in lasting:
        assert pool.stop() == 0
        assert await hosts.generations() == {"a": 1, "c": 1}
    removals = [line for pool in (first, second, *lasting) for line in pool.lines(REMOVED)]
    assert [(line["schedule"], line["application"]) for line in removals] == [("b", "shop")] * 2


async def test_without_a_name_start_and_doctor_name_what_no_code_declares(hosts: Hosts) -> None:
    hosts.write("one", "a", "b c")
    pool = hosts.start("one", None)
    await hosts.until("a", "b c")
    assert pool.stop() == 0
    hosts.write("one", "a")
    pool = hosts.start("one", None)
    warning = pool.until(UNDECLARED)
    assert (warning["schedule"], warning["remedy"]) == ("b c", "supervisor schedules remove 'b c'")
    findings = hosts.cli("doctor", "--json").document
    [finding] = [row for row in findings if row["look"].startswith("schedule ")]
    assert (finding["look"], finding["level"], finding["fix"]) == ("schedule b c", "warning", warning["remedy"])
    await hosts.until("a", "b c")
    assert pool.stop() == 0


async def test_one_moves_to_another_application_and_stays_when_that_gets_another_name(hosts: Hosts) -> None:
    hosts.write("bank", "a", "b")
    hosts.write("shop", "b")
    bank = hosts.start("bank", "bank")
    await hosts.until("a", "b")
    shop = hosts.start("shop", "shop")
    assert shop.until(FOREIGN)["schedule"] == "b"
    hosts.write("bank")
    bank.send(signal.SIGHUP)
    await hosts.until("b")
    await hosts.until_owned("b", "shop")
    hosts.write("renamed", "b")
    renamed = hosts.start("renamed", "store")
    assert renamed.until(FOREIGN)["schedule"] == "b"
    assert shop.stop() == 0
    await hosts.until_owned("b", "store")
    assert await hosts.generations() == {"b": 1}
    hosts.write("renamed")
    renamed.send(signal.SIGHUP)
    await hosts.until()
    assert [bank.stop(), renamed.stop()] == [0, 0]
    removals = [line for pool in (bank, renamed, shop) for line in pool.lines(REMOVED)]
    assert sorted((line["schedule"], line["application"]) for line in removals) == [("a", "bank"), ("b", "store")]
