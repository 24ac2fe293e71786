"""Commands that are imported only when they are called, so that `--help` and `version` start fast."""

from __future__ import annotations

import gc
import re
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import rich_click

from holdfastd.cli.common.called_name import NAMES, as_called, command_name


class LazyCommand(rich_click.RichCommand):
    """A placeholder for the command `module:attribute`, with the one line that the group's help shows."""

    def __init__(self, name: str, target: str, summary: str) -> None:
        super().__init__(name=name, help=as_called(summary), add_help_option=False)
        self.target = target

    def load(self) -> click.Command:
        gc.enable()
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return named_as_called(command)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return self.load().make_context(info_name, args, parent, **extra)


def named_as_called(command: click.Command) -> click.Command:
    """The command, with the name by which this program was called in its help and in that of its subcommands."""
    if command_name() != NAMES[0]:
        command.help, command.epilog = as_called(command.help or ""), as_called(command.epilog or "")
        for inner in command.commands.values() if isinstance(command, click.Group) else ():
            if not isinstance(inner, LazyCommand):
                named_as_called(inner)
    return command


def lazy(name: str, summary: str, target: str | None = None) -> LazyCommand:
    """The command `name` of the file of the same name, or of `target` below this package."""
    return LazyCommand(name, f"holdfastd.cli.{target or f'{name}:{name}'}", summary)


# Gives click its version. click would search the metadata of packages for it: a fifth of the time of `--help`.

_FOLDER = re.compile(r"click-(\d+\.\d+\.\d+.*)\.dist-info")


def set_version() -> None:
    """Set `click.__version__` from the name of the folder that its installer made; click finds it if there is none."""
    if "__version__" in vars(click):
        return
    with suppress(OSError):
        for entry in Path(click.__file__).parents[1].iterdir():
            if found := _FOLDER.fullmatch(entry.name):
                setattr(click, "__version__", found[1])  # noqa: B010 - its stub has none to assign to
                return
