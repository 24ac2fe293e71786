"""`supervisor check`: the handler that `start` would run, and the errors that would stop it. Starts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import msgspec
import rich_click

from holdfast.core.words import counted
from holdfast_config import Settings
from holdfastd.cli.common import options, output
from holdfastd.cli.common.handler_name import check_name
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.setting_flags import every_setting

if TYPE_CHECKING:
    from holdfastd.doctor.start_check import StartCheck


@rich_click.command(
    epilog="Examples:\n\nsupervisor check agent:handle --workers 8\n\n"
    "supervisor check --config /etc/holdfast/supervisor.toml --json"
)
@click.argument("handler", required=False)
@every_setting
@options.common
@options.pass_session
def check(session: Session, /, handler: str | None) -> int:
    """Check the settings and the handler without starting anything.

    Takes the same arguments as `supervisor start`. It imports the handler in a process of its own, as a worker does,
    within --boot-timeout. It prints the errors of `start` and has its exit status; 0 means that it would start.
    """
    session.flags["handler"] = handler
    settings = session.settings
    check_name(settings)
    session.warn()

    from holdfastd.doctor.start_check import check as look  # slow to import; errors of the settings come first

    report = look(settings)
    for obstacle in report.obstacles:
        output.note(obstacle.told)
    if session.json:
        output.document(_document(settings, report))
    elif not report.obstacles:
        _print(settings, report)
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


def _print(settings: Settings, report: StartCheck) -> None:
    for name, value in _rows(settings, report):
        output.text(f"{name:<9}{value}")
    for warning in report.warnings:
        output.text(f"{warning.level}: {warning.found}" + (f" -> {warning.fix}" if warning.fix else ""))


def _rows(settings: Settings, report: StartCheck) -> Iterator[tuple[str, str]]:
    from holdfastd.doctor.handler_import import Imported

    assert isinstance(report.trial, Imported)
    imported = f", imported in {report.trial.seconds:.2f} s" if settings.exec is None else ""
    yield "handler", f"{report.trial.handler}{imported}"
    for each in report.trial.functions:
        own = "".join(f", {name.replace('_', ' ')} {value}" for name, value in each.options.items())
        yield "", f"{each.name or 'default'}: {each.kind}, takes {', '.join(each.takes) or 'nothing'}{own}"
    yield "workers", f"{settings.workers}, each up to {counted(settings.concurrency, 'task')} at once"
    yield "lanes", ", ".join(map(str, settings.lanes))
    engine = f"embedded, {report.engine}, " if settings.embedded else ""
    yield "store", f"{engine}{settings.redis.masked_url}"
    for folder in report.folders:
        yield "folder", f"{folder.path}" + (", created at the start" if folder.missing else "")
