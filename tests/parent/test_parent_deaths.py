"""Real children die in every way; the parent names the cause, replaces them, and leaves nothing behind."""

from __future__ import annotations

import signal
import statistics
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.parent.service import Service, is_alive, wait_dead

Start = Callable[..., Service]

LEAK = 4096  # bytes a death: the least that a forgotten view, channel or log line would come to


@pytest.mark.parametrize("pidfd", [True, False], ids=["pidfd", "no-pidfd"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_killed_worker_is_replaced_and_its_death_told(start: Start, number: signal.Signals, pidfd: bool) -> None:
    service = start(no_pidfd=not pidfd).started()
    gone = service.kill("worker 0", number)
    died = service.until("died", slot="worker 0")
    assert (died["cause"], died["level"]) == (f"signal: {number.name}", "error")
    assert service.until("ready", slot="worker 0")["pid"] != gone
    assert service.ever("recovered")["tasks"] == 1
    assert service.stopped() == 0
    messages = [line.split(" ", 2)[2] for line in service.steward_messages()]
    assert f"charged signal: {number.name}" in messages[2]


def test_an_exit_with_zero_that_nobody_asked_for_is_a_death(start: Start) -> None:
    service = start(worker="quitting", workers=1)
    assert service.until("died", slot="worker 0")["cause"] == "exit: status 0"
    service.until("ready", slot="worker 0")
    assert service.stopped() == 0


def test_a_bug_in_a_child_is_shown_and_stays_in_the_child(start: Start) -> None:
    service = start(worker="raising", workers=1)
    assert service.until("died", slot="worker 0")["cause"] == "exit: status 70"
    assert any("a bug in the child" in line["text"] for line in service.lines("raw"))
    assert service.stopped() == 0


def test_a_stopped_child_is_continued(start: Start) -> None:
    service = start(workers=1).started(1)
    service.kill("worker 0", signal.SIGSTOP)
    service.until("child was stopped by a signal: it is continued", slot="worker 0")
    assert service.stopped() == 0
    assert service.lines("ended as ordered")[0]["cause"] == "requested: stop"


def test_a_hung_child_is_aborted_and_shows_its_stack(start: Start) -> None:
    service = start(worker="hung", workers=1, policy={"hang_timeout": 0.5})
    assert service.until("died", slot="worker 0")["cause"] == "hung: silent, SIGABRT"
    assert any("in hung" in line["text"] for line in service.lines("raw"))
    service.until("ready", slot="worker 0")


def test_a_child_that_boots_too_long_is_ended(start: Start) -> None:
    service = start(worker="slow_to_boot", workers=1, policy={"boot_timeout": 0.3})
    assert service.until("died", slot="worker 0")["cause"] == "boot failure: not ready in time, SIGABRT"


def test_what_a_dead_child_has_started_is_killed_however_it_fled(start: Start) -> None:
    service = start(worker="leaving_grandchildren", workers=1)
    grandchildren = [service.until("grandchild")["pid"] for _ in range(3)]
    service.ever("ready", slot="worker 0")
    service.kill("worker 0")
    service.until("died", slot="worker 0")
    wait_dead(*grandchildren)
    service.ever("recovered")
    assert service.stopped() == 0


def test_what_a_living_child_has_started_is_left_alone(start: Start) -> None:
    service = start(worker="leaving_grandchildren", workers=2)
    grandchildren = [service.until("grandchild") for _ in range(6)]
    service.ever("ready", slot="worker 0")
    service.kill("worker 0")
    service.until("died", slot="worker 0")
    wait_dead(*(each["pid"] for each in grandchildren if each["of"] == 0))
    assert all(is_alive(each["pid"]) for each in grandchildren if each["of"] == 1)


def test_the_end_of_a_stranger_is_noted_and_changes_nothing(start: Start) -> None:
    service = start(worker="daemonizing", workers=1)
    service.until("reaped an adopted process")
    assert service.stopped() == 0
    assert not service.lines("died")


def test_a_steward_is_replaced_and_told_of_the_living(start: Start) -> None:
    service = start().started()
    service.kill("steward")
    pid = service.until("ready", slot="steward")["pid"]
    assert service.stopped() == 0
    messages = [line.split() for line in service.steward_messages() if line.startswith(f"{pid} ")]
    assert [words[2] for words in messages[:2]] == ["born", "born"]
    assert {words[1] for words in messages} == {"False"}


def test_unacknowledged_deaths_are_told_to_the_next_steward(start: Start) -> None:
    service = start(steward="mute_steward").started()
    service.kill("worker 0")
    service.until("ready", slot="worker 0")
    service.kill("steward")
    pid = service.until("ready", slot="steward")["pid"]
    assert service.stopped() == 0
    assert any(line.startswith(f"{pid} ") and "charged signal: SIGKILL" in line for line in service.steward_messages())
    assert service.lines("ended")[0]["unacknowledged_deaths"] == 3


def test_a_refused_fork_is_tried_again_and_siblings_live(start: Start) -> None:
    service = start(trouble="refused", times=2)
    assert service.until("cannot fork", slot="worker 0")["error"].startswith("EAGAIN")
    service.ever("ready", slot="worker 0")
    service.ever("ready", slot="worker 1")
    assert service.stopped() == 0


def test_a_parent_without_descriptors_keeps_what_it_has(start: Start) -> None:
    service = start(workers=20, descriptors=24)
    assert service.until("cannot fork")["error"].startswith("EMFILE")
    service.ever("ready", slot="worker 0")
    service.kill("worker 0")
    service.until("died", slot="worker 0")
    service.ever("recovered", tasks=1)  # none of a worker for which no descriptor was left
    assert service.stopped() == 0


def test_a_signal_between_fork_and_reset_ends_the_child_and_not_the_parent(start: Start) -> None:
    service = start(trouble="signalled", workers=1)
    assert service.until("died", slot="worker 0")["cause"] == "signal: SIGTERM"
    service.until("ready", slot="worker 0")
    assert not service.lines("draining")
    service.ever("recovered")
    assert service.stopped() == 0


def test_a_child_is_born_with_nothing_of_the_parent(start: Start, tmp_path: Path) -> None:
    service = start(worker="curious", workers=1, environment={"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    born = service.until("born with")
    # The two others are the listing's own, and standard error as it is opened once more, to be written without waiting.
    assert len(born["descriptors"]) == 5
    assert born["descriptors"][:3] == [0, 1, 2]
    assert born["stdin"] == "/dev/null"
    assert (born["mask"], born["threads"], born["name"]) == (0, 1, "holdfast: w0")
    assert all(born[fact] for fact in ("term", "leads", "title", "inherits"))
    assert not born["notify"]
    assert service.stopped() == 0


def test_three_hundred_deaths_leave_descriptors_threads_and_memory_flat(start: Start) -> None:
    service = start(workers=1).started(1)
    parent = psutil.Process(service.pid)

    def own_memory() -> int:
        memory = parent.memory_info()
        return memory.rss - memory.shared  # without pages of files: they come in when they are first read

    def growth(deaths: int) -> int:
        before = own_memory()
        for _ in range(deaths):
            service.kill("worker 0")
            service.until("ready", slot="worker 0")
        return own_memory() - before

    growth(20)
    before = parent.num_fds(), parent.num_threads()
    grown = [growth(100) for _ in range(3)]
    assert (parent.num_fds(), parent.num_threads()) == before
    # A leak shows in each hundred; the interpreter's table of interned strings, which is built anew once, in one.
    assert statistics.median(grown) < 100 * LEAK, grown
    assert service.status().deaths.total == 320
    assert service.stopped() == 0


def test_many_young_deaths_open_the_breaker_and_status_says_so(start: Start) -> None:
    service = start(worker="short_lived", workers=4)
    service.until("crash loop: too many workers died soon after their start; one is started at a time")
    assert service.status().breaker == "exit: status 1"
    assert service.stopped() == 0
