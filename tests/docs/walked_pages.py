"""What a page tells its reader to do: the files that it names, and the lines of its consoles with what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from holdfastd.cli.common.output import readable
from tests.cli.commands import Answer, Cli, clean
from tests.cli.conftest import running

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?:#!.*\n)?# ([\w/]+\.\w+)(, continued)?\n")


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and the text of each block of code of a page of docs/."""
    return BLOCK.findall((DOCS / f"{page}.md").read_text())


def commands(console: str) -> Iterator[tuple[str, str]]:
    """The lines of a console that a reader types, each with what it prints."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield line, output


def save(folder: Path, text: str) -> Path:
    """Write a block to the file that its first line names, or add it to the end of that file."""
    named = FILE.match(text)
    assert named, text
    file = folder / named[1]
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a" if named[2] else "w") as opened:
        opened.write(text)
    return file


def walk(text: str, folder: Path, supervisors: ExitStack, instead: Mapping[str, str] | None = None) -> None:
    """Do all that a text tells: save its files, start its supervisors, type its lines and compare what they print.

    A line without an output below it may print anything. `instead`: words of the page, with what stands for them here.
    """
    for word, other in (instead or {}).items():
        text = text.replace(word, other)
    for language, block in BLOCK.findall(text):
        if language == "console":
            for line, said in commands(block):
                if line.startswith("supervisor start"):
                    supervisors.enter_context(running(folder, *shlex.split(line)[2:]))
                else:
                    told = printed(Cli(folder, environ=places(folder)), line)
                    assert said in {"", told}, f"{line}: {told}"
        else:
            save(folder, block)


def printed(cli: Cli, line: str) -> str:
    """What a line prints to people. A program finds the supervisor of its folder by itself."""
    program, *words = shlex.split(line)
    if program != "supervisor":
        return run_program(cli.folder, ["bash", "-c", line])
    answer = Cli(cli.folder, cli.options, cli.environ)(*words)
    assert answer.out, answer.err
    return "".join(_told(answer)) if words[0] == "submit" else answer.out


def run_program(folder: Path, words: list[str]) -> str:
    """What a program prints in the folder of a supervisor; a failure shows what it has printed. Python is this one."""
    folders = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = clean(places(folder)) | {"PATH": folders, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return "".join(line for line in done.stdout.splitlines(keepends=True) if "no store is named: using" not in line)


def places(folder: Path) -> dict[str, str]:
    """The variable by which commands and programs find the supervisor that `running` has started in this folder."""
    return {"HOLDFAST_RUNTIME_DIR": str(folder / "run")}


def _told(answer: Answer) -> Iterator[str]:
    for line in answer.lines:
        yield f"{line['task_id']} {line['state']}: {line['reason'] or readable(line['result'])}\n"
