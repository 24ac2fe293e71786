"""Runs all checks of `supervisor doctor`, subject by subject, and returns the findings in order."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Thread

from holdfast.core.store_info import MOST_PEEKS, StoreInfo
from holdfast.errors import StoreError
from holdfast.store.redis.keys import Keys
from holdfast.version import installed
from holdfast_config import Settings
from holdfastd.control.report import RunningInfo
from holdfastd.control.report import look as look_at_service
from holdfastd.doctor import (
    configuration,
    folders,
    handler_import,
    handler_trial,
    machine,
    monitoring,
    postgres_server,
    queue_snapshot,
    running_service,
    store_checks,
)
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.handler_import import Imported, Trial
from holdfastd.doctor.machine import Need
from holdfastd.doctor.store_checks import Expectation
from holdfastd.embedded import project_data

# Runs checks in threads, within a time limit. A check that hangs or fails becomes a finding, and hides no other check.

Run = Callable[[], Iterable[Finding]]

_ITSELF = "the check itself"


def run_bounded(checks: Mapping[str, Run], seconds: float) -> list[Finding]:
    """The findings of all checks, in the order of the subjects. A check that does not end within `seconds` is left
    alone, and a finding reports it."""
    done: queue.SimpleQueue[tuple[str, list[Finding]]] = queue.SimpleQueue()
    for subject, run in checks.items():
        Thread(target=_run, args=(subject, run, done), daemon=True).start()
    deadline = time.monotonic() + seconds
    results: dict[str, list[Finding]] = {}
    while len(results) < len(checks):
        try:
            subject, findings = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        results[subject] = findings
    return [finding for subject in checks for finding in results.get(subject) or [_late(subject, seconds)]]


def _run(subject: str, run: Run, done: queue.SimpleQueue[tuple[str, list[Finding]]]) -> None:
    try:
        findings = list(run())
    except Exception as error:  # the failure of one check must not hide the results of the others
        text = f"the check failed ({type(error).__name__}: {error})"
        findings = [Check(subject, _ITSELF).problem(text, "this is a bug: please report it")]
    done.put((subject, findings))


def _late(subject: str, seconds: float) -> Finding:
    fix = "check that the file systems and servers that this check uses answer"
    return Check(subject, _ITSELF).problem(f"the check did not end within {seconds:g} s", fix)


CHECK_TIMEOUT = 20.0  # seconds
WORKER_CONNECTIONS = 4  # connections that a busy worker has open
STEWARD_CONNECTIONS = 6  # connections that a steward has open, besides one for each lane


def run(settings: Settings, warnings: Sequence[str] = (), *, deep: bool = False) -> list[Finding]:
    """All findings. `warnings`: the warnings about the settings files. `deep`: compare all keys of the queue whatever
    its size.

    This forks to import the handler, so this process may have only one thread.
    """
    trial, owner = handler_trial.look(settings), handler_trial.owner_refusal(settings)
    service = look_at_service(settings.runtime_folder)
    pid = service.status.pid if service.status else None
    return run_bounded(
        {
            "supervisor": lambda: running_service.judge_running(
                service, version=installed(), store_url=settings.redis.masked_url, now=time.time()
            ),
            "kernel": _machine,
            "limits": lambda: machine.judge_limits(machine.look_at_limits(pid), _need(settings, trial, service)),
            "settings": lambda: _settings(settings, warnings),
            "handler": lambda: [
                *handler_import.judge_owner(owner),
                *handler_import.judge(trial, is_named=settings.handler is not None),
            ],
            "folders": lambda: _folders(settings),
            "redis": lambda: _store(settings, service, deep=deep),
            "postgresql": lambda: _database(settings),
            "metrics": lambda: monitoring.judge_metrics(
                monitoring.look_at_metrics(settings, running=service.status is not None)
            ),
            "telemetry": lambda: monitoring.judge_telemetry(monitoring.send_span(settings)),
            "unit": lambda: running_service.judge_unit(running_service.look_at_unit(), settings.drain_timeout),
        },
        CHECK_TIMEOUT,
    )


def run_without_settings(problems: Sequence[str]) -> list[Finding]:
    """The findings of the checks that need no settings; for use when the settings are invalid. `problems`: why they are
    invalid."""
    check = Check("settings", "flags, environment, files")
    invalid = [check.problem(problem, "see config/supervisor.toml for every setting") for problem in problems]
    return [*invalid, *run_bounded({"kernel": _machine}, CHECK_TIMEOUT)]


def _machine() -> Iterator[Finding]:
    yield from machine.judge_kernel(machine.look_at_kernel())
    yield from machine.judge_python(machine.look_at_python())


def _settings(settings: Settings, warnings: Sequence[str]) -> Iterator[Finding]:
    for warning in warnings:
        text, _, fix = warning.rpartition(": ")
        yield Check("settings", "files").warning(text, fix)
    yield from list(configuration.judge(settings)) or [Check("settings", "values").ok("all values are valid")]


def _need(settings: Settings, trial: Trial, service: RunningInfo) -> Need:
    in_threads = isinstance(trial, Imported) and any("thread" in each.kind for each in trial.functions)
    living = service.status.target if service.status else 0
    return Need(max(settings.workers, living), living, settings.concurrency if in_threads else 0)


def _folders(settings: Settings) -> Iterator[Finding]:
    for remark in project_data.remarks(settings):
        text, _, command = remark.partition(": `")
        yield Check("folders", "project").warning(text, command.replace("`", ""))
    sockets, data = folders.look(settings)
    yield from folders.judge(sockets, keeps_data=False)
    yield from folders.judge(data, keeps_data=settings.embedded)
    if settings.embedded:
        yield from folders.judge_program(folders.look_for_program(settings))
        yield from machine.judge_overcommit(machine.look_overcommit())


def _store(settings: Settings, service: RunningInfo, *, deep: bool) -> Iterator[Finding]:
    if settings.scheduler_type == "memory":
        yield Check("redis", "connection").ok("not used: the queue is in the memory of one process")
        return
    steward = STEWARD_CONNECTIONS + min(len(settings.lanes), MOST_PEEKS)
    expected = Expectation(
        queue=settings.queue_name,
        lease=settings.lease,
        connections=WORKER_CONNECTIONS * settings.workers + steward,
        running=service.status is not None and service.status.store.url == settings.redis.masked_url,
        embedded=settings.embedded,
    )
    info = store_checks.look(settings.redis, settings.lane_names)
    yield from store_checks.judge(info, expected)
    if isinstance(info, StoreInfo):
        snapshot = queue_snapshot.look(settings.redis, info.memory, deep=deep)
        yield from queue_snapshot.judge_invariants(snapshot)
        yield from queue_snapshot.judge_orphan_keys(snapshot, Keys(settings.queue_name).prefix)


def _database(settings: Settings) -> Iterator[Finding]:
    if settings.postgres is None:
        yield Check("postgresql", "connection").ok("not used: Redis alone keeps the tasks")
        return
    info, replication = postgres_server.look(settings.redis, settings.postgres)
    yield from postgres_server.judge(info)
    if replication is not None and not isinstance(info, StoreError):
        yield from postgres_server.judge_replication(replication)
