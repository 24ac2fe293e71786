"""Former names of commands, which still work and are not listed by `--help`."""

from __future__ import annotations

from copy import copy

import click


def also_called(group: click.Group, command: click.Command, name: str) -> None:
    """Let a command of the group be called by this former name as well."""
    former = copy(command)
    former.name, former.hidden = name, True
    group.add_command(former)
