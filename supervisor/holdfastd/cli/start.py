"""`supervisor start`: every setting as a flag, then the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import rich_click
from pydantic.fields import FieldInfo

from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler.resolve import target_of
from holdfast_config import Settings, logging
from holdfastd.cli import options, output
from holdfastd.cli.endings import CommandError
from holdfastd.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])

# The handler is the argument; a password on a command line is read by everybody who lists processes.
NOT_FLAGS = ("handler", "redis_password")


def every_setting(command: F) -> F:
    """One flag for each field of Settings, described as it is there; Settings checks the values."""
    for field, info in reversed(Settings.model_fields.items()):
        if field not in NOT_FLAGS:
            command = _flag(field, info)(command)
    return command


def _flag(field: str, info: FieldInfo) -> Callable[[F], F]:
    if info.annotation is bool:
        return options.switch(field, info.description or "")
    meaning = f"{info.description} {_default(info.default)}".rstrip()
    return options.setting(field, meaning, _metavar(info.default))


def _metavar(default: object) -> str:
    return "N" if isinstance(default, int) else "SECONDS" if isinstance(default, float) else "VALUE"


def _default(value: object) -> str:
    return f"[default: {value}]" if isinstance(value, int | float | str) else ""


def _check_name(settings: Settings) -> None:
    """A handler that nobody names, or not as a name, is told before anything is started."""
    try:
        target_of(settings.handler, settings.app_dir)
    except HandlerError as error:
        raise CommandError(str(error), Exit.CONFIG) from error


@rich_click.command(
    epilog="Examples:\n\nsupervisor start agent:handle --workers 8\n\n"
    "supervisor start agent:handle --redis-url redis://localhost:6379/0 --concurrency 50"
)
@click.argument("handler", required=False)
@every_setting
@options.setting("env_file", "Variables to read; else ./.env.", "FILE")
@options.setting("config", "The settings file; else ./supervisor.toml.", "FILE")
@options.common
@options.pass_session
def start(session: Session, /, handler: str | None) -> int:
    """Start the supervisor and its workers, in the foreground.

    HANDLER is what runs the tasks, as module:attribute; without it HOLDFAST_HANDLER, `handler` in supervisor.toml, or
    agent:handle. SIGTERM or Ctrl-C lets running tasks finish and then ends it.
    """
    session.flags["handler"] = handler
    if session.json:
        session.flags.setdefault("log_format", "json")
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    _check_name(settings)

    from holdfastd.parent.main import run  # slow to import, and bad settings should be told at once

    return run(settings, output.note)
