"""The least rights that work, as docs/stores.md has them: enough for a pool, and none too many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from redis import Redis

from holdfast.core.acceptance import Submission
from holdfast.core.task_states import State
from holdfast.errors import StoreRefusedError
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast.store.redis.keys import Keys
from holdfast.store.redis.server_check import needed_rights
from holdfast_config import RedisSettings
from tests.faults.process import Pool
from tests.faults.work import submission
from tests.redis.work import PATIENT
from tests.servers import Server, serve

pytestmark = pytest.mark.anyio

QUEUE = "bindu:tasks"
LANE = f"{QUEUE}:high"
DEADLINE = 60.0  # seconds; reached only where a right is missing
PAGE = Path(__file__).parents[2] / "docs/stores.md"


def documented() -> list[str]:
    """The words of the ACL SETUSER of the page."""
    (block,) = re.findall(r"```\n(ACL SETUSER holdfast .*?)```", PAGE.read_text(), re.DOTALL)
    return block.split()


def allowed() -> set[str]:
    return {word[1:] for word in documented() if word.startswith("+")}


def asked(keys: Keys) -> set[str]:
    """The rights that the doctor asks the server about."""
    named = {name.partition(" ")[0]: command for name, command in needed_rights(keys, [QUEUE])}
    return {
        "|".join(command[:2]).lower() if command[0] in {"SCRIPT", "CLIENT"} else command[0].lower()
        for command in named.values()
    }


@contextmanager
def served(folder: Path) -> Iterator[tuple[Server, str, Redis]]:
    """A server, the URL of the user there, and an administrator."""
    with serve(folder) as server, Redis.from_url(server.url, decode_responses=True) as admin:
        admin.execute_command(*(word.replace("PASSWORD", "pw") for word in documented()))
        admin.execute_command("ACL", "LOG", "RESET")
        yield server, server.url.replace("unix://", "unix://holdfast:pw@"), admin


def test_the_documented_rights_are_those_that_are_asked_about() -> None:
    needed_now = " ".join(f"+{command}" for command in sorted(asked(Keys(QUEUE))))
    assert allowed() == asked(Keys(QUEUE)), f"docs/stores.md must say: {needed_now}"


async def _done(store: RedisStore, task: Submission) -> None:
    notices = store.settled([task.task_id])
    assert await anext(notices) == ""
    await PATIENT.call(store.submit, [task])
    assert await anext(notices) == task.task_id
    record = await store.get(task.task_id)
    assert record is not None
    assert record.state is State.COMPLETED


async def test_a_pool_and_its_producers_need_no_more(short_path: Path) -> None:
    (short_path / "server").mkdir()
    with served(short_path / "server") as (server, url, admin):
        pool = Pool(short_path, server.url, redis_url=url, queue_name=QUEUE, workers=2).ready(2)
        try:
            with anyio.move_on_after(DEADLINE) as bound:
                async with open_store(RedisSettings(url, queue=QUEUE)) as store:
                    await _done(store, Submission(*_parts("first")))
                    await store.submit([Submission(*_parts("ends", "end_once SIGSEGV"))])
                    pool.until("died")
                    await _done(store, Submission(*_parts("later"), delay_ms=100))
            assert not bound.cancelled_caught, f"refused: {admin.execute_command('ACL', 'LOG')}"
            assert pool.stop() == 0
        finally:
            pool.close()
        assert admin.execute_command("ACL", "LOG") == []


def _parts(task_id: str, text: str = "quick") -> tuple[str, str, str, bytes, str]:
    made = submission(task_id, text)
    return made.task_id, made.message_id, made.digest, made.operation, QUEUE


async def test_each_of_them_is_missed_where_it_is_not_given(short_path: Path) -> None:
    with served(short_path) as (_, url, admin):
        for command in sorted(allowed()):
            admin.execute_command("ACL", "SETUSER", "holdfast", f"-{command}")
            assert any(command in name for name in await _missed(url)), command
            admin.execute_command("ACL", "SETUSER", "holdfast", f"+{command}")
        assert await _missed(url) == []


async def _missed(url: str) -> list[str]:
    """The rights that the doctor would name; the error of the server if it cannot ask."""
    async with open_store(RedisSettings(url, queue=QUEUE)) as store:
        try:
            facts = await store.examine([QUEUE], 0.0)
        except StoreRefusedError as error:
            return [str(error)]
    if facts.rights is None:
        return [dict(facts.unseen)["rights"]]
    return [name.lower().replace(" ", "|") for name in facts.rights.forbidden]
