"""Chooses the handler that the settings name: a Python function or registry, or a command."""

from __future__ import annotations

from holdfast.errors import HandlerError
from holdfast.handler import foreign_code
from holdfast.handler.command import command_line
from holdfast.handler.command.command_runner import CommandRunner
from holdfast.handler.handler import Handler
from holdfast.handler.named_handler import resolve, target_of
from holdfast_config import Settings
from holdfast_config.environment import for_commands, search_path

# The time from SIGTERM to SIGKILL for a command: this share of the drain timeout, at most GRACE_MOST seconds. This is
# half of the time that the parent leaves between cancelling and the end.
GRACE_SHARE = 0.05
GRACE_MOST = 2.5


def handler_of(settings: Settings) -> Handler:
    """Import the handler, or find its command on PATH. Raises HandlerError if there is none, or if root would run code
    that another user can change."""
    foreign_code.refuse(settings)
    if settings.exec is None:
        handler = resolve(settings.handler, settings.app_dir, settings)
        if settings.fence == "strict":
            handler.refuse_main_thread("--fence strict needs SIGALRM for itself: use --fence lease")
        return handler
    grace = min(GRACE_MOST, settings.drain_timeout * GRACE_SHARE)
    inherited = for_commands(wanted=settings.exec_env or ())
    return Handler(settings.exec, CommandRunner(command_line.find(settings.exec, search_path()), inherited, grace))


def check(settings: Settings) -> str:
    """Check everything about the handler that needs no import; returns its name. Raises HandlerError."""
    if settings.exec is None:
        return target_of(settings.handler, settings.app_dir)
    if settings.preload and "preload" in settings.model_fields_set:
        raise HandlerError(f"exec {settings.exec[:200]!a}: a command cannot be preloaded: leave --preload out")
    command_line.find(settings.exec, search_path())
    return settings.exec
