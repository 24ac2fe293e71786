"""docs/handlers.md: every example in it is run as it stands, and answers as it says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfastd.cli.common.output import readable
from tests.cli.commands import Answer, Cli
from tests.cli.conftest import running

PAGE = Path(__file__).parents[2] / "docs" / "handlers.md"

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"^# (\w+\.(?:py|sh))$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A file, how it is started, and commands with what they print."""

    name: str
    content: str
    start: list[str]
    commands: list[tuple[list[str], str]]


def examples() -> Iterator[Example]:
    blocks = BLOCK.findall(PAGE.read_text())
    for (_, content), (kind, console) in zip(blocks[::2], blocks[1::2], strict=True):
        assert kind == "console"
        name = NAME.search(content)
        assert name
        start, *commands = [_command(part) for part in re.split(r"^\$ supervisor ", console, flags=re.MULTILINE)[1:]]
        yield Example(name[1], content, start[0], commands)


def _command(part: str) -> tuple[list[str], str]:
    command, _, output = part.partition("\n")
    return shlex.split(command), output


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example.name)
def test_an_example_answers_as_the_page_says(example: Example, short_path: Path) -> None:
    file = short_path / example.name
    file.write_text(example.content)
    file.chmod(0o755)
    assert example.start[0] == "start"
    with running(short_path, *example.start[1:]) as (cli, _):
        for words, output in example.commands:
            assert _printed(cli, words) == output


def test_the_page_has_an_example_of_each_kind() -> None:
    names = [example.name for example in examples()]
    assert len({*names}) == len(names) >= 8  # each saves its own file
    assert {name.partition(".")[2] for name in names} == {"py", "sh"}


def _printed(cli: Cli, words: list[str]) -> str:
    """As it is told to people."""
    return "".join(_told(_run(cli, words))) if words[0] == "submit" else Cli(cli.folder, cli.options)(*words).out


def _run(cli: Cli, words: list[str]) -> Answer:
    answer = cli(*words)
    assert answer.lines, answer.err
    return answer


def _told(answer: Answer) -> Iterator[str]:
    for line in answer.lines:
        yield f"{line['task_id']} {line['state']}: {line['reason'] or readable(line['result'])}\n"
