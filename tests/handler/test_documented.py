"""The pages about handlers: every example in them is run as it stands, and answers as it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfastd.cli.common.output import readable
from tests.cli.commands import Answer, Cli, clean
from tests.cli.conftest import running

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("handlers", "long-work", "running", "command-handlers")

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
    blocks = [block for page in PAGES for block in BLOCK.findall((DOCS / f"{page}.md").read_text())]
    for (_, content), (kind, console) in zip(blocks[::2], blocks[1::2], strict=True):
        assert kind == "console"
        name = NAME.search(content)
        assert name
        (start, _), *commands = [_command(part) for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]]
        yield Example(name[1], content, start[1:], commands)


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


def test_the_pages_have_an_example_of_each_kind() -> None:
    names = [example.name for example in examples()]
    assert len({*names}) == len(names) >= 8  # each saves its own file
    assert {name.partition(".")[2] for name in names} == {"py", "sh"}


def _printed(cli: Cli, words: list[str]) -> str:
    """As it is told to people. A program is run in the folder of the supervisor, which it finds by itself."""
    program, *words = words
    if program == "python":
        environ = clean({"HOLDFAST_RUNTIME_DIR": str(cli.folder / "run")})
        return subprocess.check_output([sys.executable, *words], cwd=cli.folder, env=environ, text=True, timeout=60)
    return "".join(_told(_run(cli, words))) if words[0] == "submit" else Cli(cli.folder, cli.options)(*words).out


def _run(cli: Cli, words: list[str]) -> Answer:
    answer = cli(*words)
    assert answer.lines, answer.err
    return answer


def _told(answer: Answer) -> Iterator[str]:
    for line in answer.lines:
        yield f"{line['task_id']} {line['state']}: {line['reason'] or readable(line['result'])}\n"
