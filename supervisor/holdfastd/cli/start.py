"""`supervisor start` runs the service, with every setting as a flag. `supervisor check` finds the errors that would
stop it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import msgspec

from holdfast.core.words import counted
from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler import foreign_code
from holdfast.handler.choose import check as check_handler
from holdfast_config import Settings, logging
from holdfast_config.resolve import setting_files
from holdfastd.cli import service_process
from holdfastd.cli.common import CommandError, Session, options, output
from holdfastd.cli.common.setting_flags import every_setting
from holdfastd.cli.service_process import PoolOrder
from holdfastd.embedded import project_data

if TYPE_CHECKING:
    from holdfastd.doctor.start_check import StartCheck

# Checks the name of the handler, and whose code it is, before anything is started or imported.


def settings_with(session: Session, handler: str | None) -> Settings:
    """The settings of a command that runs this handler. Also checks the handler's name and the owner of its code, and
    sets up logging. Raises CommandError."""
    session.flags["handler"] = handler
    if session.json:
        session.flags.setdefault("log_format", "json")
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    check_name(settings)
    if why := foreign_code.refusal(settings):  # root would run code that other users can change
        raise CommandError(why, Exit.PERMISSION)
    return settings


def check_name(settings: Settings) -> None:
    """Raise CommandError if no handler is named, or if the command of --exec does not exist."""
    try:
        check_handler(settings)
    except HandlerError as error:
        raise CommandError(str(error), Exit.CONFIG) from error


@options.command(
    epilog="Examples:\n\nsupervisor start agent:handlers --workers 8\n\n"
    "supervisor start agent:handlers --redis-url redis://localhost:6379/0 --concurrency 50\n\n"
    "supervisor start --exec './statement --format json' --workers 4\n\n"
    "Signals: TERM and INT stop the supervisor after running tasks have finished; a second one cancels these tasks; "
    "QUIT kills at once. HUP reloads, or stops if the terminal was closed. TTIN adds a worker and TTOU removes one. "
    "USR1 logs the state and all stacks.\n\n"
    "Settings come from flags, the environment (HOLDFAST_..., REDIS_URL), ./.env and ./supervisor.toml, in this order. "
    "Without a supervisor.toml they come from agent_config.json in the application's folder, or from ./.redbike.conf."
)
@click.argument("handler", required=False)
@every_setting
@options.common
@options.pass_session
def start(session: Session, /, handler: str | None) -> int:
    """Start the supervisor and its workers in the foreground.

    HANDLER names the `Handlers` registry or the single function that runs the tasks, as module:attribute. Default:
    HOLDFAST_HANDLER, `handler` in supervisor.toml, or agent:handle. With --exec each task runs a command instead. The
    command reads the message as JSON from standard input and writes the result to standard output. SIGTERM or Ctrl-C
    stops the supervisor after the running tasks have finished. With --scheduler-type memory everything runs in one
    process, for tasks that the handler's own program submits.
    """
    settings = settings_with(session, handler)
    session.warn()
    for line in project_data.remarks(settings):
        output.note(line)
    return service_process.run(PoolOrder(settings, session.flags, setting_files(session.flags)))


# `supervisor check`: the handler that `start` would run, and the errors that would stop it. Starts nothing.


@options.command(
    epilog="Examples:\n\nsupervisor check agent:handlers --workers 8\n\n"
    "supervisor check --config /etc/holdfast/supervisor.toml --json"
)
@click.argument("handler", required=False)
@every_setting
@options.common
@options.pass_session
def check(session: Session, /, handler: str | None) -> int:
    """Check the settings and the handler without starting anything.

    Takes the same arguments as `supervisor start`. It imports the handler in a process of its own, as a worker does,
    within --boot-timeout. It prints the errors that `start` would print, with the same exit status; 0 means that the
    supervisor would start.
    """
    session.flags["handler"] = handler
    settings = session.settings
    check_name(settings)
    session.warn()

    from holdfastd.doctor.start_check import check as look  # slow to import; errors of the settings come first

    report = look(settings)
    for obstacle in report.obstacles:
        output.note(obstacle.told)
    lines = () if report.obstacles else tuple(_lines(settings, report))
    session.answer(_document(settings, report), *lines)
    return report.status


def _document(settings: Settings, report: StartCheck) -> dict[str, Any]:
    return {
        "ok": not report.obstacles,
        "status": int(report.status),
        "obstacles": [asdict(obstacle) for obstacle in report.obstacles],
        "warnings": [asdict(warning) for warning in report.warnings],
        "handler": msgspec.to_builtins(report.trial),
        "workers": settings.workers,
        "concurrency": settings.concurrency,
        "lanes": list(settings.lane_names),
        "store": {"url": settings.redis.masked_url, "embedded": settings.embedded, "engine": report.engine},
        "folders": [{"path": str(each.path), "writable": not each.blocked} for each in report.folders],
    }


def _lines(settings: Settings, report: StartCheck) -> Iterator[str]:
    for name, value in _rows(settings, report):
        yield f"{name:<9}{value}"
    for warning in report.warnings:
        yield f"{warning.level}: {warning.found}" + (f" -> {warning.fix}" if warning.fix else "")


def _rows(settings: Settings, report: StartCheck) -> Iterator[tuple[str, str]]:
    from holdfastd.doctor.handler_import import Imported

    assert isinstance(report.trial, Imported)
    imported = f", imported in {report.trial.seconds:.2f} s" if settings.exec is None else ""
    yield "handler", f"{report.trial.handler}{imported}"
    for each in report.trial.functions:
        own = "".join(f", {name.replace('_', ' ')} {value}" for name, value in each.options.items())
        yield "", f"{each.name or 'default'}: {each.kind}, takes {', '.join(each.takes) or 'nothing'}{own}"
    for schedule in report.trial.schedules:
        yield "schedule", f"{schedule.schedule_id}: {schedule.fires}, runs {schedule.name or 'the default handler'}"
    yield "workers", f"{settings.workers}, each up to {counted(settings.concurrency, 'task')} at once"
    yield "lanes", ", ".join(map(str, settings.lanes))
    engine = f"embedded, {report.engine}, " if settings.embedded else ""
    yield "store", f"{engine}{settings.redis.masked_url}"
    for folder in report.folders:
        yield "folder", f"{folder.path}" + (", created at the start" if folder.missing else "")
