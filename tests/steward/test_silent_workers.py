"""A silent worker: what its page does not name goes back, once the page says that it begins no more of that."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from holdfast.core import begun_page
from holdfast.core.begun_page import RUNS, BegunTasks
from holdfast.ipc.channel import Born, Died, Silent
from holdfast.os import locks
from holdfast.os.processes import boot_id
from holdfastd.steward.duties.worker_recovery import SilentWorkers
from holdfastd.steward.roster import LockFiles
from tests.steward.surroundings import A, B, DutySurroundings

pytestmark = pytest.mark.anyio


@pytest.fixture
def surroundings(tmp_path: Path) -> DutySurroundings:
    made = DutySurroundings(tmp_path)
    made.store.answers["last_request"] = [7]
    made.roster.worker_started(Born(A))
    made.roster.worker_silent(Silent(A))
    return made


def page_of(surroundings: DutySurroundings, incarnation: str) -> BegunTasks:
    path = surroundings.folder / f"{incarnation}{begun_page.SUFFIX}"
    return BegunTasks(locks.create_mapped(path, begun_page.blank(2, boot_id())))


def silent_workers(surroundings: DutySurroundings) -> SilentWorkers:
    return SilentWorkers(surroundings.store, surroundings.roster, LockFiles(surroundings.folder))


async def test_it_begins_no_more_of_what_goes_back(surroundings: DutySurroundings) -> None:
    page = page_of(surroundings, A)
    page.add("t")
    with capture_logs() as logs:
        await silent_workers(surroundings).run_once()
    assert surroundings.called("take_back") == [(A, 7, {"t": RUNS})]
    assert page.is_revoked("1:a:7")
    assert not page.is_revoked("1:a:8")
    assert [(line["incarnation"], line["tasks"]) for line in logs] == [(A, 1)]


async def test_what_it_begins_until_the_page_is_read_stays(
    surroundings: DutySurroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(surroundings, A)

    async def wait(_: float) -> None:
        page.add("late")

    monkeypatch.setattr("holdfastd.steward.duties.worker_recovery.anyio.sleep", wait)
    await silent_workers(surroundings).run_once()
    assert surroundings.called("take_back") == [(A, 7, {"late": RUNS})]


@pytest.mark.parametrize("is_there", [False, True], ids=["no page", "a page that is not complete"])
async def test_nothing_goes_back_where_no_page_tells(surroundings: DutySurroundings, is_there: bool) -> None:
    if is_there:
        page = page_of(surroundings, A)
        for task_id in ("a", "b", "c"):
            page.add(task_id)
    await silent_workers(surroundings).run_once()
    assert surroundings.called("take_back") == []


async def test_one_report_is_one_look(surroundings: DutySurroundings) -> None:
    page_of(surroundings, A)
    for _ in range(2):
        await silent_workers(surroundings).run_once()
    assert len(surroundings.called("take_back")) == 1


async def test_a_worker_that_is_dead_or_not_known_is_left_to_others(surroundings: DutySurroundings) -> None:
    page_of(surroundings, A)
    surroundings.roster.worker_silent(Silent(B))
    surroundings.roster.worker_died(Died(A, "signal 9", charged=True))
    await silent_workers(surroundings).run_once()
    assert surroundings.store.calls == []
