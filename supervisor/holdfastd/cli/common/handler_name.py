"""The handler of a command that runs tasks: its name, and whose code it is, before anything is started or imported."""

from __future__ import annotations

from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler import foreign_code
from holdfast.handler.choose import check
from holdfast_config import Settings, logging
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session


def settings_with(session: Session, handler: str | None) -> Settings:
    """The settings of a command that runs this handler, which is checked; logs are written as they say."""
    session.flags["handler"] = handler
    if session.json:
        session.flags.setdefault("log_format", "json")
    settings = session.settings
    logging.configure(settings.log_level, settings.log_format)
    check_name(settings)
    check_owner(settings)
    return settings


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
