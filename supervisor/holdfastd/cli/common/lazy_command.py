"""Commands that are imported when they are called, so that `--help` and `version` need not wait for the others."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click
import rich_click


class LazyCommand(rich_click.RichCommand):
    """Stands in a group for the command `module:attribute`; its help line is all that the group's help shows."""

    def __init__(self, name: str, target: str, purpose: str) -> None:
        super().__init__(name=name, help=purpose, add_help_option=False)
        self.target = target

    def load(self) -> click.Command:
        module, _, attribute = self.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        return self.load().make_context(info_name, args, parent, **extra)


def lazy(noun: str, purpose: str, target: str | None = None) -> LazyCommand:
    """The command of this name from the file of this name, or from `target` below this package."""
    return LazyCommand(noun, f"holdfastd.cli.{target or f'{noun}:{noun}'}", purpose)
