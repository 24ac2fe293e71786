"""Options that several commands share. They fill the session, so the commands themselves do not handle them."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import click
from rich_click import RichGroup
from rich_click import command as command
from rich_click import group as _rich_group

from holdfastd.cli.common import Session

ALIASES = {"ls": "list"}  # other names of subcommands, in each group that has them


class AliasGroup(RichGroup):
    """A group of commands that also knows the ALIASES of its commands."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or super().get_command(ctx, ALIASES.get(cmd_name, ""))


Function = Callable[..., Any]  # a function that becomes a command
Decorator = Callable[[Function], Function]

_SHORT = {"lanes": ("-Q",), "config": ("-c",)}

pass_session = click.make_pass_decorator(Session)


CONFIG_HELP = "Settings file. Default: ./supervisor.toml, the application's agent_config.json, or ./.redbike.conf."
RUNTIME_DIR_HELP = "Folder of the supervisor's sockets."


def pass_timeline_session(command: Function) -> Function:
    """`pass_session` for the timeline commands, whose own settings file (.redbike.conf) has precedence."""
    return _pass_marked(command, "timeline")


def pass_reading_session(command: Function) -> Function:
    """`pass_session` for commands that change nothing: they find the service of this host by themselves."""
    return _pass_marked(command, "reads")


def pass_changing_session(command: Function) -> Function:
    """`pass_session` for commands that change a supervisor or a queue: for root they find the service of this host by
    themselves."""
    return _pass_marked(command, "changes")


def _pass_marked(command: Function, *marks: str) -> Function:
    def called(session: Session, /, *arguments: Any, **options: Any) -> Any:
        for mark in marks:
            setattr(session, mark, True)
        return command(session, *arguments, **options)

    return pass_session(update_wrapper(called, command))


def setting(field: str, meaning: str, metavar: str, **attributes: Any) -> Decorator:
    """A flag for one field of Settings, which checks the value. `attributes`: further attributes of the option."""
    names = (*_SHORT.get(field, ()), flag(field), field)
    return click.option(*names, metavar=metavar, help=meaning, expose_value=False, callback=remember, **attributes)


def switch(field: str, meaning: str) -> Decorator:
    """A flag without a value for a boolean field of Settings; its --no- form overrides environment and file."""
    names = f"{flag(field)}/{flag('no_' + field)}"
    return click.option(names, field, default=None, help=meaning, expose_value=False, callback=remember)


def common(command: Function) -> Function:
    """Add the options of every command: --json and --debug."""
    command = _mark("debug", "Print the traceback of an error.")(command)
    return _mark("json", "Print JSON: one document, or one per line.")(command)


def place(command: Function, **attributes: Any) -> Function:
    """Add --runtime-dir and --config: by these a command finds its supervisor."""
    command = setting("config", CONFIG_HELP, "FILE", **attributes)(command)
    return setting("runtime_dir", RUNTIME_DIR_HELP, "FOLDER", **attributes)(command)


def here(command: Function) -> Function:
    """Add the options by which a command finds its supervisor, and the common ones."""
    return common(place(command))


def store(command: Function) -> Function:
    """Add the options by which a command finds the store."""
    command = setting("queue_name", "Name of the queue, a Redis list.", "NAME")(command)
    url = "URL of the Redis to use. Default: that of the settings, or the supervisor's embedded store."
    return here(setting("redis_url", url, "URL")(command))


def wide(command: Function) -> Function:
    """Add --wide, for commands that print a table which may be too wide for the terminal."""
    return _mark("wide", "On a terminal: print whole ids and all columns. In a pipe the command always does so.")(
        command
    )


def group(*name: str, **attributes: Any) -> Callable[[Function], click.Group]:
    """A decorator that makes a group of commands. The group takes --config and --runtime-dir, as its commands do, so
    each may stand before the verb."""
    decorate: Callable[[Function], click.Group] = _rich_group(*name, cls=AliasGroup, **attributes)

    def make(function: Function) -> click.Group:
        has_own = any(each.name == "config" for each in getattr(function, "__click_params__", ()))
        return decorate(function if has_own else place(function, hidden=True))

    return make


def together(*parts: Decorator) -> Decorator:
    """A decorator that adds several options, in this order."""

    def add(command: Function) -> Function:
        for part in reversed(parts):
            command = part(command)
        return command

    return add


# The options of a whole kind of commands, with the session as the first argument of the command.


def changing(command: Function) -> Function:
    """Add the options of a command that changes something in the store."""
    return store(pass_changing_session(command))


def reading(command: Function) -> Function:
    """Add the options of a command that only reads the store."""
    return store(pass_reading_session(command))


def listing(command: Function) -> Function:
    """Add the options of a command that only reads the store and prints a table."""
    return wide(reading(command))


def timeline(command: Function) -> Function:
    """Add the options of a timeline command that uses the store."""
    return store(_pass_marked(command, "timeline", "changes"))


def flag(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def remember(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Put the value of an option into the session's flags. This is the callback of every option that is a setting."""
    if value is not None:
        context.ensure_object(Session).flags[parameter.name] = value


def _mark(name: str, meaning: str) -> Decorator:
    """A flag that sets the field `name` of the session to True."""

    def mark(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Session), name, True)

    return click.option(flag(name), is_flag=True, help=meaning, expose_value=False, callback=mark)
