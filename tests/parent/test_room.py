"""How many workers a host can hold: the judgement, the measuring, and what a real parent says when asked for more."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfastd.control.socket_protocol import ControlError
from holdfastd.core.capacity import MIB, WORKER_MEMORY, Host, refusal
from holdfastd.core.commands import Log
from holdfastd.core.parent_events import ScaleAsked, Signalled
from holdfastd.parent import host
from holdfastd.parent.host import groups
from tests.core.histories import History, worker
from tests.parent.service import Service

Start = Callable[..., Service]

FULL = Host(memory=0)
FILES = "raise the hard limit (ulimit -Hn, LimitNOFILE=)"
GROUP = "raise pids.max (TasksMax=)"


@pytest.mark.parametrize(
    ("measured", "most", "why"),
    [
        (Host(descriptors=400), 100, f"a process may have 400 files open; {FILES}"),
        (Host(user_processes=50), 46, "this user may start 50 more processes; raise the limit (ulimit -u)"),
        (Host(group_processes=9), 5, f"its control group may have 9 more processes; {GROUP}"),
        (Host(memory=100 * MIB), 13, "100 MiB of memory are left, a worker needs 11; add memory (MemoryMax=)"),
        (Host(400, 500, 30, 10_000 * MIB), 26, f"its control group may have 30 more processes; {GROUP}"),
    ],
)
def test_the_tightest_bound_is_named_with_its_number(measured: Host, most: int, why: str) -> None:
    assert refusal(measured, living=4, wanted=most) == ""
    text = refusal(measured, living=4, wanted=most + 1)
    assert text == f"this host cannot hold {most + 1} workers, {most} at most: {why}, or ask for fewer"


def test_a_host_without_known_bounds_holds_any_number() -> None:
    assert refusal(Host(), 0, 10_000) == ""


def test_a_bound_that_is_less_than_nothing_is_told_as_none() -> None:
    assert "0 at most" in refusal(Host(descriptors=50), 0, 1)


@pytest.mark.parametrize("event", [ScaleAsked(3, FULL), Signalled(signal.SIGTTIN, FULL)])
def test_a_full_host_takes_no_more(event: ScaleAsked | Signalled) -> None:
    history = History(2).started()
    (refusal,) = history.event(event)
    assert isinstance(refusal, Log)
    assert refusal.event == "scaling refused"
    assert "2 at most" in str(refusal.fields["reason"])
    assert history.view.target == 2


@pytest.mark.parametrize("event", [ScaleAsked(4, FULL), Signalled(signal.SIGTTOU, FULL)])
def test_a_full_host_does_not_keep_a_pool_from_getting_smaller(event: ScaleAsked | Signalled) -> None:
    history = History(5).started()
    history.fork_fails = True
    for number in range(3):
        history.die(worker(number), -signal.SIGKILL)
    history.event(event)
    assert history.view.target == 4


def test_each_control_group_outwards_bounds(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "membership").write_text("4:memory:/elsewhere\n0::/outer/inner\n")
    folders = list(groups(tmp_path, tmp_path / "membership"))
    assert folders == [inner, tmp_path / "outer", tmp_path]
    (inner / "pids.max").write_text("max\n")
    (inner / "pids.current").write_text("7\n")
    (tmp_path / "outer" / "pids.max").write_text("100\n")
    (tmp_path / "outer" / "pids.current").write_text("60\n")
    assert host.measure(folders).group_processes == 40


def test_memory_of_a_control_group_counts_what_the_kernel_can_take_back(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text(f"{4 * WORKER_MEMORY}")
    (tmp_path / "memory.current").write_text(f"{3 * WORKER_MEMORY}")
    assert host.measure([tmp_path]).memory == WORKER_MEMORY
    (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {WORKER_MEMORY - 1}\nactive_file 1\nslab 7\n")
    assert host.measure([tmp_path]).memory == 2 * WORKER_MEMORY


def test_without_control_groups_the_memory_of_the_host_bounds() -> None:
    measured = host.measure([])
    assert measured.group_processes is None
    assert measured.memory


RAISING = """
import resource
from holdfastd.parent.host import measure, raise_descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 300))
raise_descriptors()
print(measure().descriptors)
"""


def test_the_soft_limit_on_open_files_is_raised_to_the_hard_one() -> None:
    assert subprocess.run([sys.executable, "-c", RAISING], capture_output=True, check=True).stdout == b"300\n"


def test_a_real_parent_is_asked_for_more_than_its_descriptors_are_enough_for(start: Start) -> None:
    service = start(workers=3, descriptors=111).started(3)
    with pytest.raises(ControlError, match="cannot hold 10000 workers, 3 at most: a process may have 111 files open"):
        service.scale(10_000)
    with pytest.raises(ControlError, match="workers is 0; it must be between 1 and 10000"):
        service.scale(0)
    service.send(signal.SIGTTIN)
    assert "3 at most" in service.until("scaling refused")["reason"]
    assert service.status().target == 3
    assert service.scale(2).target == 2
    assert service.stopped() == 0
