"""The help of all commands as Markdown, from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from holdfastd.cli.command_table import LazyCommand, cli

EXAMPLE = re.compile(r"\s*(?:Example: )?(?:sudo )?supervisor ")


def commands() -> Iterator[str]:
    yield "## All commands with their options\n"
    yield "Each command also has `--help`.\n"
    yield from _group(cli, click.Context(cli, info_name="supervisor"))


def _group(group: click.Group, context: click.Context) -> Iterator[str]:
    for name, listed in group.commands.items():
        command = listed.load() if isinstance(listed, LazyCommand) else listed
        if listed.hidden or command.hidden:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        yield from _section(command, inner)
        if isinstance(command, click.Group):
            yield from _group(command, inner)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"### {context.command_path}\n"
    yield f"{_plain(command.help or '')}\n"
    yield f"```console\n$ {' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    rows = [row for each in command.params if (row := _row(each, context))]
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows]) + "\n"
    yield from _examples(command.epilog or "")


def _examples(epilog: str) -> Iterator[str]:
    """Lines that can be typed as a block; other lines of the epilog as text."""
    lines = [line for line in _unmarked(epilog).splitlines() if line.strip()]
    typed = [line[line.index("supervisor ") :] for line in lines if EXAMPLE.match(line)]
    if other := " ".join(line.strip() for line in lines if not EXAMPLE.match(line) and line != "Examples:"):
        yield f"{_plain(other)}\n"
    if typed:
        yield "\n".join(["```console", *(f"$ {line.strip()}" for line in typed), "```\n"])


def _row(parameter: click.Parameter, context: click.Context) -> str:
    """The row of an option; empty for arguments, which the usage has, and for options that are not shown."""
    if not isinstance(parameter, click.Option) or parameter.hidden:
        return ""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    value = "" if parameter.is_flag or parameter.count else f" `{parameter.make_metavar(context)}`"
    default = f" Default: {parameter.default}." if parameter.show_default and isinstance(parameter.default, int) else ""
    return f"| {names}{value} | {_cell((parameter.help or '') + default)} |".replace("`[", "`").replace("]`", "`")


def _cell(text: str) -> str:
    return " ".join(_plain(text).split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Help text without marks for the terminal, with signs that Markdown would understand escaped."""
    return _unmarked(text).replace("<", "&lt;").replace("*", "\\*")


def _unmarked(text: str) -> str:
    return cleandoc(text.replace("\b", "").replace("\f", ""))
