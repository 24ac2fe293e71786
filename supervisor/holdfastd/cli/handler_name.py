"""The handler's name, looked at before anything is started or imported."""

from __future__ import annotations

from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler.resolve import target_of
from holdfast_config import Settings
from holdfastd.cli.endings import CommandError


def check_name(settings: Settings) -> None:
    """A handler that nobody names, or not as a name, is told at once. Raises CommandError."""
    try:
        target_of(settings.handler, settings.app_dir)
    except HandlerError as error:
        raise CommandError(str(error), Exit.CONFIG) from error
