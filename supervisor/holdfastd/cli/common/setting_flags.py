"""Every setting as a flag, for the commands that take them all."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import rich_click
from pydantic.fields import FieldInfo

from holdfast_config import Settings, durations, names
from holdfastd.cli.common import options
from holdfastd.cli.common.setting_groups import GROUPS

F = TypeVar("F", bound=Callable[..., Any])

# The handler is an argument; a password on a command line could be read by everyone who lists processes.
NOT_FLAGS = ("handler", *names.PASSWORDS)


def every_setting(command: F) -> F:
    """Adds a flag for each field of Settings, which checks its value, and for the settings files."""
    return settings_but()(command)


def settings_but(*fields: str) -> Callable[[F], F]:
    """`every_setting` without some fields, which the command does not use or names differently."""

    def decorate(command: F) -> F:
        return _flags(command, {*NOT_FLAGS, *fields})

    return decorate


def settings_of(group: str, *left_out: str) -> Callable[[F], F]:
    """Adds the flags of one group of settings, without some of its fields."""

    def decorate(command: F) -> F:
        for field in reversed([field for field in GROUPS[group] if field not in left_out]):
            command = _flag(field, Settings.model_fields[field])(command)
        return command

    return decorate


def _flags(command: F, left_out: Collection[str]) -> F:
    command = rich_click.rich_config(help_config={"option_groups": {"*": _groups(left_out)}})(command)
    command = options.setting("config", options.CONFIG_HELP, "FILE")(command)
    command = options.setting("env_file", "File of variables. Default: ./.env.", "FILE")(command)
    for field, info in reversed(Settings.model_fields.items()):
        if field not in left_out:
            command = _flag(field, info)(command)
    return command


def _groups(left_out: Collection[str]) -> list[Any]:
    """The groups of the help; options of no group stand in one of their own."""
    return [
        {"name": name, "options": [options.flag(field) for field in fields if field not in left_out]}
        for name, fields in GROUPS.items()
    ]


def _flag(field: str, info: FieldInfo) -> Callable[[F], F]:
    if info.annotation is bool:
        return options.switch(field, info.description or "")
    meaning = f"{info.description} {_default(info.default)}".rstrip()
    return options.setting(field, meaning, _metavar(info.default))


def _metavar(default: object) -> str:
    return "N" if isinstance(default, int) else "SECONDS" if isinstance(default, float) else "VALUE"


def _default(value: object) -> str:
    shown = durations.shortest(value) if isinstance(value, float) else value
    return f"[default: {shown}]" if isinstance(shown, int | str) else ""
