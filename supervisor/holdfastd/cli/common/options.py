"""Options that several commands share. They fill the session, so the commands themselves do not handle them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar

import click

from holdfastd.cli.common.session import Session

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]

_SHORT = {"lanes": ("-Q",), "config": ("-c",)}

pass_session = click.make_pass_decorator(Session)


CONFIG_HELP = "Settings file. Default: ./supervisor.toml, the application's agent_config.json, or ./.redbike.conf."


def pass_timeline_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """`pass_session` for the timeline commands, whose own settings file (.redbike.conf) has precedence."""

    def called(session: Session, /, *arguments: Any, **options: Any) -> Any:
        session.timeline = True
        return command(session, *arguments, **options)

    return pass_session(update_wrapper(called, command))


def pass_reading_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """`pass_session` for commands that change nothing: they find the service of this host by themselves."""

    def called(session: Session, /, *arguments: Any, **options: Any) -> Any:
        session.reads = True
        return command(session, *arguments, **options)

    return pass_session(update_wrapper(called, command))


def setting(field: str, meaning: str, metavar: str) -> Decorator[Any]:
    """A flag for one field of Settings, which checks the value."""
    return click.option(
        *_SHORT.get(field, ()),
        flag(field),
        field,
        metavar=metavar,
        help=meaning,
        expose_value=False,
        callback=remember,
    )


def switch(field: str, meaning: str) -> Decorator[Any]:
    """A flag without a value for a boolean field of Settings; its --no- form overrides environment and file."""
    names = f"{flag(field)}/{flag('no_' + field)}"
    return click.option(names, field, default=None, help=meaning, expose_value=False, callback=remember)


def common(command: F) -> F:
    """Adds the options of every command: --json and --debug."""
    command = click.option(
        "--debug", is_flag=True, help="Print the traceback of an error.", expose_value=False, callback=_debug
    )(command)
    return click.option(
        "--json", is_flag=True, help="Print JSON: one document, or one per line.", expose_value=False, callback=_json
    )(command)


def here(command: F) -> F:
    """Adds the options by which a command finds its supervisor."""
    for option in (
        setting("config", CONFIG_HELP, "FILE"),
        setting("runtime_dir", "Folder of the supervisor's sockets.", "FOLDER"),
    ):
        command = option(command)
    return common(command)


def store(command: F) -> F:
    """Adds the options by which a command finds the store."""
    for option in (
        setting("queue_name", "Name of the queue, a Redis list.", "NAME"),
        setting("redis_url", "Redis to use. Default: that of the settings, or the supervisor's embedded store.", "URL"),
    ):
        command = option(command)
    return here(command)


def flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """The callback of an option that is a setting."""
    if value is not None:
        context.ensure_object(Session).flags[parameter.name] = value


def wide(command: F) -> F:
    """Adds --wide, for commands that print a table which may be too wide for the terminal."""
    return click.option(
        "--wide",
        is_flag=True,
        help="On a terminal: print whole ids and all columns. In a pipe they are whole anyway.",
        expose_value=False,
        callback=_wide,
    )(command)


def _wide(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Session).wide |= value


def _debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Session).debug |= value


def _json(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Session).json |= value
