"""Options that several commands share. They fill the session; the commands need not know of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar

import click

from holdfastd.cli.common.session import Session

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]

_SHORT = {"lanes": ("-Q",)}

pass_session = click.make_pass_decorator(Session)


CONFIG_HELP = "The settings file; else ./supervisor.toml, agent_config.json of the application, or .redbike.conf."


def pass_timeline_session(command: Callable[..., Any]) -> Callable[..., Any]:
    """`pass_session` of the verbs of a timeline scheduler, for which its settings file goes before others."""

    def told(session: Session, /, *arguments: Any, **options: Any) -> Any:
        session.timeline = True
        return command(session, *arguments, **options)

    return pass_session(update_wrapper(told, command))


def setting(field: str, meaning: str, metavar: str) -> Decorator[Any]:
    """A flag for one field of Settings, which checks the value."""
    return click.option(
        *_SHORT.get(field, ()),
        _flag(field),
        field,
        metavar=metavar,
        help=meaning,
        expose_value=False,
        callback=remember,
    )


def switch(field: str, meaning: str) -> Decorator[Any]:
    """A flag without a value for a field of Settings that is on or off; its opposite overrules environment and file."""
    names = f"{_flag(field)}/{_flag('no_' + field)}"
    return click.option(names, field, default=None, help=meaning, expose_value=False, callback=remember)


def common(command: F) -> F:
    """What every command has."""
    command = click.option(
        "--debug", is_flag=True, help="Show where an error came from.", expose_value=False, callback=_debug
    )(command)
    return click.option(
        "--json", is_flag=True, help="Print JSON: one document, or one a line.", expose_value=False, callback=_json
    )(command)


def here(command: F) -> F:
    """How a command finds its supervisor."""
    for one in (
        setting("config", CONFIG_HELP, "FILE"),
        setting("runtime_dir", "Where the supervisor keeps its sockets.", "FOLDER"),
    ):
        command = one(command)
    return common(command)


def store(command: F) -> F:
    """How a command finds the store."""
    for one in (
        setting("queue_name", "The queue, a Redis list.", "NAME"),
        setting("redis_url", "The Redis to use; else that of the settings, or the supervisor's own.", "URL"),
    ):
        command = one(command)
    return here(command)


def _flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """The callback of an option that is a setting."""
    if value is not None:
        context.ensure_object(Session).flags[parameter.name] = value


def _debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Session).debug |= value


def _json(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Session).json |= value
