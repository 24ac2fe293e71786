"""The command line of --exec: split as a shell does, found on PATH, and refused at once where it could not run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import HandlerError
from holdfast.handler import choose
from holdfast.handler.command.command_line import find
from holdfast.handler.command.command_runner import CommandRunner
from holdfast_config import Settings
from holdfastd.core.slots import SupervisionPolicy

PATH = os.environ["PATH"]


def refusal(line: str, search_path: str = PATH) -> str:
    with pytest.raises(HandlerError) as caught:
        find(line, search_path)
    message = str(caught.value)
    assert message.startswith(("exec '", 'exec "'))
    assert "\n" not in message
    return message


def write(path: Path, text: str, mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_command_is_split_as_a_shell_splits_words_and_nothing_is_expanded() -> None:
    assert find("""cat 'a b' "$HOME" *.py c\\ d '|' wc""", PATH).words == (
        "cat", "a b", "$HOME", "*.py", "c d", "|", "wc",
    )  # fmt: skip


def test_a_command_is_found_on_the_path_by_its_name(tmp_path: Path) -> None:
    tool = write(tmp_path / "tool", "#!/bin/sh\n")
    assert find("tool --fast", f"/nowhere:{tmp_path}").path == tool


def test_a_command_with_a_slash_is_found_from_here_and_kept_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tool = write(tmp_path / "tool", "#!/bin/sh\n")
    found = find("./tool", "/nowhere")
    assert (found.path, found.words) == (tool, ("./tool",))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("cat 'a", "no closing quotation"),
        ("cat \\", "no escaped character"),
        ("", "names no command"),
        ("''", "names no command"),
        ("no-such-command -x", "no command 'no-such-command' on PATH (/usr/bin:/bin)"),
        ("FOO=1 cat", "no command 'FOO=1' on PATH"),
        ("/no/such/file", "no file '/no/such/file'"),
        ("/usr", "'/usr' is a folder"),
        ("/etc/passwd", "'/etc/passwd' is not executable for this user: chmod +x it"),
        ("\x1b[31m", "no command '\\x1b[31m' on PATH"),
    ],
)
def test_a_command_that_cannot_be_found_is_refused_with_what_was_looked_for(line: str, why: str) -> None:
    assert why in refusal(line, "/usr/bin:/bin")


def test_a_file_that_lies_here_but_not_on_the_path_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tool", "#!/bin/sh\n")
    assert refusal("tool").endswith("to run the file here write ./tool")
    assert f"no file 'other' in {tmp_path}" in refusal("./other").replace("./", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo hello\n", "a text file whose first line names no interpreter"),
        ("", "a text file whose first line names no interpreter"),
        ("#!/no/such/shell -e\n", "names '/no/such/shell' as its interpreter"),
        ("#!/bin/sh\r\necho hello\r\n", r"names '/bin/sh\r' as its interpreter"),
    ],
)
def test_a_script_that_the_kernel_would_refuse_is_refused_now(tmp_path: Path, text: str, why: str) -> None:
    tool = write(tmp_path / "tool", text)
    assert why in refusal(str(tool))


def test_a_script_with_an_interpreter_and_arguments_is_taken(tmp_path: Path) -> None:
    for first in ("#!/bin/sh -e", "#! /bin/sh", "#!/usr/bin/env python3"):
        tool = write(tmp_path / "tool", f"{first}\n")
        assert find(str(tool), PATH).path == tool


def test_a_command_excludes_preloading_and_is_otherwise_a_handler() -> None:
    handler = choose.handler_of(Settings(exec="cat -n"))
    assert handler.target == "cat -n"
    assert isinstance(handler.default, CommandRunner)
    assert choose.check(Settings(exec="cat -n")) == "cat -n"
    with pytest.raises(HandlerError, match="cannot be preloaded"):
        choose.check(Settings(exec="cat -n", preload=True))


@pytest.mark.parametrize(("drain", "grace"), [(90.0, 2.5), (10.0, 0.5), (0.0, 0.0)])
def test_the_grace_of_a_cancelled_command_ends_before_the_drain_does(drain: float, grace: float) -> None:
    program = choose.handler_of(Settings(exec="cat", drain_timeout=drain)).default
    assert isinstance(program, CommandRunner)
    assert program.grace == grace <= SupervisionPolicy(drain_timeout=drain).cancel_grace
