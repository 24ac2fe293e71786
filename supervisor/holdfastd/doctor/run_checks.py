"""One visit of the doctor: everything that is looked at, and the order in which it is told."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from holdfast.errors import StoreError
from holdfast.store.protocol import MOST_PEEKS
from holdfast_config import Settings
from holdfastd.doctor import (
    configuration,
    database,
    folders,
    handler_import,
    kernel,
    resources,
    running_service,
    store,
    unit,
)
from holdfastd.doctor.bounded import together
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.handler_import import Imported, NotImported, Trial
from holdfastd.doctor.looks import database as look_database
from holdfastd.doctor.looks import embedded as look_embedded
from holdfastd.doctor.looks import folders as look_folders
from holdfastd.doctor.looks import handler_import as look_handler
from holdfastd.doctor.looks import kernel as look_kernel
from holdfastd.doctor.looks import resources as look_limits
from holdfastd.doctor.looks import running_service as look_running
from holdfastd.doctor.looks import store as look_store
from holdfastd.doctor.looks import unit as look_unit
from holdfastd.doctor.resources import Need
from holdfastd.doctor.running_service import RunningInfo
from holdfastd.doctor.store import Expectation
from holdfastd.embedded.errors import StoreLaunchError
from holdfastd.version import installed

LONGEST_LOOK = 20.0  # seconds
WORKERS_CONNECTIONS = 4  # that one has open while it is busy
STEWARDS_CONNECTIONS = 6  # beside one for each lane


def visit(settings: Settings, doubts: Sequence[str] = ()) -> list[Finding]:
    """Everything; `doubts` about the files of the settings. Forks for the handler's import, so this process may have
    one thread only."""
    trial = look_handler.attempt(settings)
    service = look_running.running(settings.runtime_folder)
    pid = service.status.pid if service.status else None
    return together(
        {
            "kernel": _machine,
            "limits": lambda: resources.judge(look_limits.room(pid), _need(settings, trial, service)),
            "settings": lambda: [*_files(doubts), *_settings(settings)],
            "handler": lambda: _handler(settings, trial),
            "folders": lambda: _folders(settings),
            "redis": lambda: _store(settings, service),
            "postgresql": lambda: _database(settings),
            "supervisor": lambda: _service(settings, service),
            "unit": lambda: unit.judge(look_unit.unit(), settings.drain_timeout),
        },
        LONGEST_LOOK,
    )


def visit_without_settings(problems: Sequence[str]) -> list[Finding]:
    """What can be looked at where the settings cannot be read."""
    look = Check("settings", "flags, environment, files")
    bad = [look.problem(problem, "see config/supervisor.toml for every setting") for problem in problems]
    return [*bad, *together({"kernel": _machine}, LONGEST_LOOK)]


def _machine() -> Iterator[Finding]:
    yield from kernel.judge(look_kernel.kernel())
    yield from kernel.judge_python(look_kernel.python())


def _files(doubts: Sequence[str]) -> Iterator[Finding]:
    for doubt in doubts:
        found, _, fix = doubt.rpartition(": ")
        yield Check("settings", "files").warning(found, fix)


def _settings(settings: Settings) -> list[Finding]:
    return list(configuration.judge(settings)) or [Check("settings", "values").ok("all of them are allowed")]


def _need(settings: Settings, trial: Trial, service: RunningInfo) -> Need:
    in_threads = isinstance(trial, Imported) and any("thread" in one.kind for one in trial.functions)
    living = service.status.target if service.status else 0
    return Need(max(settings.workers, living), living, settings.concurrency if in_threads else 0)


def _handler(settings: Settings, trial: Trial) -> Iterator[Finding]:
    if isinstance(trial, NotImported) and settings.handler is None and not trial.traceback:
        yield handler_import.LOOK.note(f"not looked at: {trial.error}", "supervisor doctor HANDLER")
    else:
        yield from handler_import.judge(trial)


def _folders(settings: Settings) -> Iterator[Finding]:
    sockets, data = look_folders.folders(settings)
    yield from folders.judge(sockets, keeps_data=False)
    yield from folders.judge(data, keeps_data=settings.embedded)
    if settings.embedded:
        look = Check("folders", "embedded store")
        try:
            yield look.ok(f"{look_embedded.embedded(settings)}, and it can read what is there")
            yield from kernel.judge_overcommit(look_kernel.overcommit())
        except StoreLaunchError as error:
            found, _, fix = str(error).rpartition(": ")
            yield look.problem(found, fix)


def _store(settings: Settings, service: RunningInfo) -> Iterator[Finding]:
    if settings.scheduler_type == "memory":
        yield Check("redis", "connection").ok("none is used: the queue is in the memory of one process")
        return
    others = STEWARDS_CONNECTIONS + min(len(settings.lanes), MOST_PEEKS)
    expected = Expectation(
        queue=settings.queue_name,
        lease=settings.lease,
        connections=WORKERS_CONNECTIONS * settings.workers + others,
        running=service.status is not None and service.status.store.url == settings.redis.masked_url,
        embedded=settings.embedded,
    )
    seen = look_store.examine(settings.redis, settings.lane_names)
    if isinstance(seen, StoreError):
        yield store.judge_silence(seen, expected)
    else:
        yield from store.judge(seen, expected)


def _database(settings: Settings) -> Iterator[Finding]:
    if settings.postgres is None:
        yield Check("postgresql", "connection").ok("none is used: Redis alone keeps the tasks")
        return
    seen, following = look_database.examine(settings.redis, settings.postgres)
    if isinstance(seen, StoreError):
        yield database.judge_silence(seen)
        return
    yield from database.judge(seen)
    if following is not None:
        yield from database.judge_following(following)


def _service(settings: Settings, service: RunningInfo) -> Iterator[Finding]:
    ours = {"version": installed(), "store_url": settings.redis.masked_url}
    yield from running_service.judge(service, **ours, now=time.time())
