"""Manual pages of `supervisor` and each of its commands, from their help: `python -m distribution.man_pages FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from holdfast.version import installed
from holdfastd.cli.command_table import LazyCommand, cli

PROGRAM = "supervisor"


def contexts(context: click.Context) -> Iterator[click.Context]:
    """That of a command and of all commands below it, each command being imported."""
    yield context
    if not isinstance(context.command, click.Group):
        return
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        if command is not None and not command.hidden:
            below = command.load() if isinstance(command, LazyCommand) else command
            yield from contexts(click.Context(below, parent=context, info_name=name))


def page(context: click.Context) -> str:
    """The page of one command, for man."""
    title = context.command_path.replace(" ", "-")
    head = f'.TH "{title.upper()}" "1" "" "Holdfast {installed()}" "Holdfast"'
    return "\n".join([head, *_name(context, title), *_text(context), *_options(context), *_commands(context), ""])


def _name(context: click.Context, title: str) -> Iterator[str]:
    yield from (".SH NAME", f"{title} \\- {_escaped(context.command.get_short_help_str(200))}")
    yield from (".SH SYNOPSIS", f".B {_escaped(context.command_path)}")
    yield _escaped(" ".join(context.command.collect_usage_pieces(context)))


def _text(context: click.Context) -> Iterator[str]:
    yield ".SH DESCRIPTION"
    yield from _paragraphs(context.command.help or "")
    if context.command.epilog:
        yield ".SH NOTES"
        yield from _paragraphs(context.command.epilog)


def _options(context: click.Context) -> Iterator[str]:
    options = [each for each in context.command.get_params(context) if isinstance(each, click.Option)]
    records = [record for each in options if (record := each.get_help_record(context))]
    if records:
        yield ".SH OPTIONS"
    for names, meaning in records:
        yield from (".TP", f".B {_escaped(names)}", _escaped(meaning))


def _commands(context: click.Context) -> Iterator[str]:
    below = [each for each in contexts(context) if each.parent is context]
    if below:
        yield ".SH COMMANDS"
    for each in below:
        title = each.command_path.replace(" ", "-")
        yield from (".TP", f".BR {_escaped(title)} (1)", _escaped(each.command.get_short_help_str(200)))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b", "").strip().split("\n\n"):
        yield from (".PP", _escaped(" ".join(paragraph.split())))


def _escaped(text: str) -> str:
    """As roff prints it as it is: no escapes, hyphens that can be copied, no line that looks like a request."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


def pages() -> dict[str, str]:
    """Each page by the name of its file."""
    top = click.Context(cli, info_name=PROGRAM)
    return {f"{each.command_path.replace(' ', '-')}.1": page(each) for each in contexts(top)}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
