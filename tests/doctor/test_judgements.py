"""Judgements of the machine, the folders, the handler, the unit and a running supervisor: values in, findings out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from holdfast.core.store_info import MOST_PEEKS
from holdfast_config import Settings
from holdfast_config.lanes import Lane
from holdfastd.control.report import RunningInfo
from holdfastd.control.socket_protocol import (
    Deaths,
    DeathStatus,
    ProcessStatus,
    QuarantineStatus,
    StoreStatus,
    SupervisorStatus,
)
from holdfastd.core.capacity import Host
from holdfastd.doctor import configuration, folders, handler_import, machine, running_service
from holdfastd.doctor.finding import Finding
from holdfastd.doctor.folders import FolderInfo
from holdfastd.doctor.handler_import import Function, Imported, NotImported
from holdfastd.doctor.machine import KernelInfo, Need, PythonInfo
from holdfastd.doctor.running_service import UnitInfo

MEBIBYTE = 1 << 20


def levels(findings: Iterable[Finding]) -> list[str]:
    listed = list(findings)
    assert listed
    assert all(finding.fix for finding in listed if finding.level in ("warning", "problem"))
    return [str(finding.level) for finding in listed if finding.level != "ok"]


KERNEL = KernelInfo("Linux", "6.1.0-18", pidfd=True, parents_death=True, subreaper=True, oom_score_adj=0)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (KERNEL, []),
        (replace(KERNEL, system="Darwin"), ["problem"]),
        (replace(KERNEL, pidfd=False), ["warning"]),
        (replace(KERNEL, parents_death=False, subreaper=False), ["warning", "warning"]),
        (replace(KERNEL, oom_score_adj=-1000), ["warning"]),
        (replace(KERNEL, oom_score_adj=500), ["note"]),
        (replace(KERNEL, oom_score_adj=None), []),
    ],
)
def test_kernel(facts: KernelInfo, expected: list[str]) -> None:
    assert levels(machine.judge_kernel(facts)) == expected


@pytest.mark.parametrize(("setting", "expected"), [(0, ["note"]), (2, ["note"]), (1, []), (None, [])])
def test_overcommit(setting: int | None, expected: list[str]) -> None:
    assert [str(finding.level) for finding in machine.judge_overcommit(setting)] == expected


@pytest.mark.parametrize(
    ("version", "library", "expected"),
    [
        ((3, 11, 7), "1", []),
        ((3, 10, 0), "1", ["problem"]),
        ((3, 14, 0), "1", ["warning"]),
        ((3, 13, 1), None, ["problem"]),
    ],
)
def test_python(version: tuple[int, int, int], library: str | None, expected: list[str]) -> None:
    assert levels(machine.judge_python(PythonInfo(version, {"uvloop": library}))) == expected


NEED = Need(workers=8, living=0, threads=0)


@pytest.mark.parametrize(
    ("host", "need", "expected"),
    [
        (Host(), NEED, []),
        (Host(), replace(NEED, workers=10_000, threads=10), []),
        (Host(descriptors=1024, user_processes=100, memory=1000 * MEBIBYTE), NEED, []),
        (Host(descriptors=110), NEED, ["problem"]),
        (Host(group_processes=15), NEED, ["problem"]),
        (Host(group_processes=15), replace(NEED, living=8), []),
        (Host(user_processes=87), replace(NEED, threads=10), ["warning"]),
        (Host(user_processes=88), replace(NEED, threads=10), []),
        (Host(memory=50 * MEBIBYTE), NEED, ["problem"]),
        (Host(memory=351 * MEBIBYTE), NEED, ["warning"]),
        (Host(memory=352 * MEBIBYTE), NEED, []),
        (Host(memory=50 * MEBIBYTE), replace(NEED, living=8), []),
    ],
)
def test_limits(host: Host, need: Need, expected: list[str]) -> None:
    assert levels(machine.judge_limits(host, need)) == expected


FOLDER = FolderInfo(
    path=Path("/var/lib/holdfast/store"), flag="--state-dir", missing=False, blocked="", status=0, owner=7, user=7,
    mode=0o750, free=2 << 30, filesystem="ext4",
)  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (FOLDER, []),
        (replace(FOLDER, blocked="/var/lib: Permission denied: make it writable for this user"), ["problem"]),
        (replace(FOLDER, mode=0o1777, missing=True), []),
        (replace(FOLDER, owner=0), ["note"]),
        (replace(FOLDER, free=1000 * MEBIBYTE), ["warning"]),
        (replace(FOLDER, free=63 * MEBIBYTE), ["problem"]),
        (replace(FOLDER, filesystem="tmpfs"), ["warning"]),
        (replace(FOLDER, filesystem="nfs4"), ["warning"]),
    ],
)
def test_folders(facts: FolderInfo, expected: list[str]) -> None:
    assert levels(folders.judge(facts, keeps_data=True)) == expected


def test_sockets_may_be_in_memory() -> None:
    assert levels(folders.judge(replace(FOLDER, filesystem="tmpfs", free=0), keeps_data=False)) == []


UNIT = {
    "LoadState": "loaded", "UnitFileState": "enabled", "ActiveState": "active", "Type": "notify", "KillMode": "mixed",
    "TimeoutStopUSec": "2min", "WatchdogUSec": "20s", "User": "holdfast", "DynamicUser": "no",
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({"LoadState": "not-found"}, ["note"]),
        ({"LoadState": "bad-setting"}, ["problem"]),
        ({"UnitFileState": "disabled"}, ["note"]),
        ({"ActiveState": "failed"}, ["problem"]),
        ({"Type": "simple"}, ["warning"]),
        ({"KillMode": "control-group"}, ["warning"]),
        ({"TimeoutStopUSec": "1min 30s"}, ["warning"]),
        ({"TimeoutStopUSec": "1min 40s"}, []),
        ({"TimeoutStopUSec": "infinity"}, []),
        ({"WatchdogUSec": "0"}, ["note"]),
        ({"User": ""}, ["warning"]),
        ({"User": "", "DynamicUser": "yes"}, []),
    ],
)
def test_unit(change: dict[str, str], expected: list[str]) -> None:
    assert levels(running_service.judge_unit(UnitInfo("holdfast.service", UNIT | change), 90.0)) == expected


def test_without_systemd_the_unit_does_not_apply() -> None:
    assert levels(
        running_service.judge_unit(UnitInfo("holdfast.service", {}, absent="no systemd runs here"), 90.0)
    ) == ["note"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("30s", 30), ("1min 30s", 90), ("1h 500ms", 3600.5), ("1d 2h", 93600), ("infinity", float("inf"))],
)
def test_spans_as_systemd_prints_them(text: str, seconds: float) -> None:
    assert running_service.span(text) == seconds


WORKER = ProcessStatus(
    kind="worker", slot=0, pid=1, incarnation="i", state="ready", uptime=9.0, running=[], settled=0, restarts=0,
    generation=0, silent=0.5,
)  # fmt: skip
DEATH = DeathStatus(990.0, "worker", 0, 1, "i", "signal", "SIGKILL")
STATUS = SupervisorStatus(
    version="1.0", pid=1, state="running", uptime=9.0, target=1, ready=1, degraded="", breaker="", generation=0,
    reloading=False, store=StoreStatus("redis://db/0", False), processes=[WORKER], deaths=Deaths(0, []),
)  # fmt: skip


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (STATUS, []),
        (msgspec.structs.replace(STATUS, version="0.9"), ["warning"]),
        (msgspec.structs.replace(STATUS, degraded="the store is away"), ["problem"]),
        (msgspec.structs.replace(STATUS, breaker="boot failure"), ["problem"]),
        (msgspec.structs.replace(STATUS, target=2), ["warning"]),
        (msgspec.structs.replace(STATUS, target=2, state="starting"), []),
        (msgspec.structs.replace(STATUS, processes=[msgspec.structs.replace(WORKER, silent=6.0)]), ["warning"]),
        (msgspec.structs.replace(STATUS, deaths=Deaths(3, [DEATH] * 3)), ["warning"]),
        (msgspec.structs.replace(STATUS, deaths=Deaths(3, [msgspec.structs.replace(DEATH, cause="recycled")] * 3)), []),
        (msgspec.structs.replace(STATUS, deaths=Deaths(3, [msgspec.structs.replace(DEATH, at=1.0)] * 3)), []),
        (msgspec.structs.replace(STATUS, store=StoreStatus("redis://other/0", False)), ["warning"]),
        (msgspec.structs.replace(STATUS, quarantine=QuarantineStatus(3, 1)), []),
        (msgspec.structs.replace(STATUS, quarantine=QuarantineStatus(3, 1, "no room")), ["warning"]),
    ],
)
def test_a_running_supervisor(status: SupervisorStatus, expected: list[str]) -> None:
    facts = RunningInfo(status)
    assert levels(running_service.judge_running(facts, version="1.0", store_url="redis://db/0", now=1000.0)) == expected


def test_a_supervisor_that_does_not_answer_is_worse_than_none() -> None:
    for absent, level in ((True, "note"), (False, "problem")):
        facts = RunningInfo(None, "nothing", absent=absent)
        assert levels(running_service.judge_running(facts, version="1.0", store_url="", now=0.0)) == [level]


HANDLER = Imported("agent:handle", [Function("", "coroutine", [])], 0.1, [], [])


@pytest.mark.parametrize(
    ("trial", "expected"),
    [
        (HANDLER, []),
        (msgspec.structs.replace(HANDLER, seconds=5.1), ["warning"]),
        (msgspec.structs.replace(HANDLER, threads=["a"]), ["warning"]),
        (msgspec.structs.replace(HANDLER, processes=[7]), ["warning"]),
        (NotImported("no module agent"), ["problem"]),
    ],
)
def test_handler(trial: handler_import.Trial, expected: list[str]) -> None:
    assert levels(handler_import.judge(trial, is_named=True)) == expected


def test_settings_that_are_seldom_meant() -> None:
    assert list(configuration.judge(Settings())) == []
    assert levels(configuration.judge(Settings(lanes=("other:list",)))) == ["warning"]
    assert levels(configuration.judge(Settings(task_timeout=100.0))) == ["note"]
    assert levels(configuration.judge(Settings(lanes=(Lane("bindu:tasks", timeout=100.0),)))) == ["note"]
    lanes = tuple(Lane(name) for name in ("bindu:tasks", *map(str, range(MOST_PEEKS))))
    assert list(configuration.judge(Settings(lanes=lanes[:MOST_PEEKS]))) == []
    (found,) = configuration.judge(Settings(lanes=lanes))
    assert (found.level, "polls the others every 200 ms" in found.found) == ("note", True)
