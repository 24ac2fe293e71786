"""Checks the handler's name, and whose code it is, before anything is started or imported."""

from __future__ import annotations

from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler import foreign_code
from holdfast.handler.choose import check
from holdfast_config import Settings
from holdfastd.cli.common.error_report import CommandError


def check_name(settings: Settings) -> None:
    """Raises CommandError if no handler is named or its command does not exist."""
    try:
        check(settings)
    except HandlerError as error:
        raise CommandError(str(error), Exit.CONFIG) from error


def check_owner(settings: Settings) -> None:
    """Raises CommandError where root would run the code of others."""
    if why := foreign_code.refusal(settings):
        raise CommandError(why, Exit.PERMISSION)
