"""`supervisor check`: what `start` would run, and whether it could, without starting anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import msgspec
import rich_click

from holdfast.core.plurals import counted
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
    """Check the settings and the handler, without starting anything.

    Takes what `supervisor start` takes. The handler is imported in a process of its own, as a worker does it, within
    --boot-timeout. Exit 0 if it would start, else what `start` would exit with, and the same words.
    """
    session.flags["handler"] = handler
    settings = session.settings
    check_name(settings)
    session.warn()

    from holdfastd.doctor.start_check import check as look  # slow to import, and bad settings should be told at once

    found = look(settings)
    for obstacle in found.obstacles:
        output.note(obstacle.told)
    if session.json:
        output.document(_document(settings, found))
    elif not found.obstacles:
        _print(settings, found)
    return found.status


def _document(settings: Settings, found: StartCheck) -> dict[str, Any]:
    return {
        "ok": not found.obstacles,
        "status": int(found.status),
        "obstacles": [asdict(obstacle) for obstacle in found.obstacles],
        "warnings": [asdict(warning) for warning in found.warnings],
        "handler": msgspec.to_builtins(found.trial),
        "workers": settings.workers,
        "concurrency": settings.concurrency,
        "lanes": list(settings.lane_names),
        "store": {"url": settings.redis.masked_url, "embedded": settings.embedded, "engine": found.engine},
        "folders": [{"path": str(one.path), "writable": not one.blocked} for one in found.folders],
    }


def _print(settings: Settings, found: StartCheck) -> None:
    for name, value in _rows(settings, found):
        output.text(f"{name:<9}{value}")
    for warning in found.warnings:
        output.text(f"{warning.level}: {warning.found}" + (f" -> {warning.fix}" if warning.fix else ""))


def _rows(settings: Settings, found: StartCheck) -> Iterator[tuple[str, str]]:
    from holdfastd.doctor.handler_import import Imported

    assert isinstance(found.trial, Imported)
    imported = f", imported in {found.trial.seconds:.2f} s" if settings.exec is None else ""
    yield "handler", f"{found.trial.handler}{imported}"
    for one in found.trial.functions:
        own = "".join(f", {name.replace('_', ' ')} {value}" for name, value in one.options.items())
        yield "", f"{one.name or 'default'}: {one.kind}, takes {', '.join(one.takes) or 'nothing'}{own}"
    yield "workers", f"{settings.workers}, each up to {counted(settings.concurrency, 'task')} at once"
    yield "lanes", ", ".join(map(str, settings.lanes))
    engine = f"embedded, {found.engine}, " if settings.embedded else ""
    yield "store", f"{engine}{settings.redis.masked_url}"
    for folder in found.folders:
        yield "folder", f"{folder.path}" + (", made at the start" if folder.missing else "")
