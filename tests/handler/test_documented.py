"""The pages about handlers: every example in them is run as it stands, and answers as it says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import running
from tests.docs.walked_pages import blocks, commands, printed, save

PAGES = ("handlers", "long-work", "running", "command-handlers")


@dataclass(frozen=True)
class Example:
    """A file, how it is started, and commands with what they print."""

    content: str
    start: str
    commands: list[tuple[str, str]]

    @property
    def name(self) -> str:
        return next(line for line in self.content.splitlines() if line.endswith((".py", ".sh"))).removeprefix("# ")


def examples() -> Iterator[Example]:
    told = [block for page in PAGES for block in blocks(page)]
    for (_, content), (kind, console) in zip(told[::2], told[1::2], strict=True):
        assert kind == "console"
        (start, _), *rest = commands(console)
        yield Example(content, start, rest)


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_an_example_answers_as_the_page_says(example: Example, short_path: Path) -> None:
    save(short_path, example.content).chmod(0o755)
    program, verb, *options = shlex.split(example.start)
    assert (program, verb) == ("supervisor", "start")
    with running(short_path, *options) as (cli, _):
        for line, output in example.commands:
            assert printed(cli, line) == output


def test_the_pages_have_an_example_of_each_kind() -> None:
    names = [example.name for example in examples()]
    assert len({*names}) == len(names) >= 8  # each saves its own file
    assert {name.partition(".")[2] for name in names} == {"py", "sh"}
