"""Looks at this machine: they end within their time limit and leave nothing behind."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

from holdfast_config import load
from holdfastd.doctor import folders, machine, running_service
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.run_checks import run_bounded
from tests.users import bound_by_modes

CHECK = Check("subject", "look")


def systemctl(folder: Path, body: str) -> str:
    """A program that answers in systemctl's place."""
    program = folder / "systemctl"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_this_kernel_has_what_is_needed() -> None:
    facts = machine.look_at_kernel()
    assert (facts.system, facts.pidfd, facts.parents_death, facts.subreaper) == ("Linux", True, True, True)


def test_room_is_that_of_the_process_that_is_asked_about() -> None:
    with subprocess.Popen(["sh", "-c", "ulimit -n 123; echo; exec sleep 600"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert machine.look_at_limits(process.pid).descriptors == 123
        process.kill()
    assert machine.look_at_limits(None).descriptors != 123
    assert machine.look_at_limits(2**22 + 1).descriptors != 123, "no such process"


def test_folders_are_not_made_by_looking(tmp_path: Path) -> None:
    settings = load({"runtime_dir": f"{tmp_path}/r/un", "state_dir": f"{tmp_path}/s"}, environ={}, folder=tmp_path)
    sockets, data = folders.look(settings)
    assert (sockets.missing, sockets.blocked, data.path) == (True, "", tmp_path / "s/store")
    assert data.free > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_ours_is_blocked(tmp_path: Path) -> None:
    settings = load({"runtime_dir": "/proc/nothing/run", "state_dir": str(tmp_path)}, environ={}, folder=tmp_path)
    with bound_by_modes():
        assert folders.look(settings)[0].blocked


def test_a_link_to_nowhere_is_blocked(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to("nowhere")
    settings = load({"runtime_dir": f"{tmp_path}/run", "state_dir": str(tmp_path)}, environ={}, folder=tmp_path)
    assert "it is a symbolic link" in folders.look(settings)[0].blocked


def test_systemd_is_asked_for_what_is_judged(tmp_path: Path) -> None:
    program = systemctl(tmp_path, 'echo "LoadState=loaded"; echo "Result=$1 $2 $3"')
    facts = running_service.look_at_unit("holdfast.service", program, booted=tmp_path)
    assert facts.properties["LoadState"] == "loaded"
    assert facts.properties["Result"] == f"show holdfast.service --property={','.join(running_service.PROPERTIES)}"


def test_without_systemd_nothing_is_asked(tmp_path: Path) -> None:
    assert running_service.look_at_unit("holdfast.service", "no-such-systemctl", booted=tmp_path).absent
    assert running_service.look_at_unit(
        "holdfast.service", systemctl(tmp_path, "exit 0"), booted=tmp_path / "nothing"
    ).absent


def test_a_systemd_that_refuses_is_told(tmp_path: Path) -> None:
    program = systemctl(tmp_path, "echo 'Failed to connect to bus' >&2; exit 1")
    assert "Failed to connect" in running_service.look_at_unit("holdfast.service", program, booted=tmp_path).absent


def fine() -> Iterator[Finding]:
    yield CHECK.ok("fine")


def test_a_check_that_hangs_or_fails_hides_no_other() -> None:
    released = threading.Event()

    def hangs() -> Iterator[Finding]:
        released.wait(60)
        yield CHECK.ok("late")

    def fails() -> Iterator[Finding]:
        yield CHECK.ok("the first half")
        raise ZeroDivisionError("by zero")

    try:
        findings = run_bounded({"a": fine, "b": hangs, "c": fails, "d": fine}, 0.2)
    finally:
        released.set()
    assert [(finding.level, finding.subject) for finding in findings] == [
        ("ok", "subject"), ("problem", "b"), ("problem", "c"), ("ok", "subject")
    ]  # fmt: skip
    assert "did not end within 0.2 s" in findings[1].found
    assert "ZeroDivisionError: by zero" in findings[2].found
