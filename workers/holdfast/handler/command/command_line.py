"""Splits an operator's command line into words like a shell, and checks its program once, before any task."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import HandlerError

LOOKED_AT = 256  # bytes at the beginning of a program that are read

_ELF = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class Command:
    """A command that can be executed. `words`: its arguments; the first is the program as the operator wrote it.
    `path`: the file that is executed."""

    words: tuple[str, ...]
    path: Path


def find(line: str, search_path: str) -> Command:
    """The command that `line` names. No shell is run: nothing is expanded, piped or redirected. Raises HandlerError."""
    words = _split(line)
    try:
        path = _located(words[0], line, search_path)
    except OSError as error:  # for example, the name is too long
        raise _refusal(line, str(error.strerror).lower()) from None
    _check_beginning(path, line)
    return Command(tuple(words), path)


def _split(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise _refusal(line, f"{str(error).lower()}: quote it as for a shell") from None
    if not words or not words[0]:
        raise _refusal(line, "names no command")
    return words


def _located(word: str, line: str, search_path: str) -> Path:
    path = shutil.which(word, path=search_path)
    if path is not None:
        return Path(path).absolute()
    if os.sep in word:
        raise _refusal(line, _why_not(Path(word)))
    here = f"; to run the file here write ./{word}" if Path(word).is_file() else ""
    raise _refusal(line, f"no command {word!a} on PATH ({search_path}){here}")


def _why_not(path: Path) -> str:
    if path.is_dir():
        return f"{str(path)!a} is a folder"
    if not path.exists():
        return f"no file {str(path)!a}" + ("" if path.is_absolute() else f" in {Path.cwd()}")
    return f"{str(path)!a} is not executable for this user: chmod +x it"


def _check_beginning(path: Path, line: str) -> None:
    """Refuse a program that the kernel could not execute. Otherwise the first task would fail with an error that names
    no reason."""
    beginning = _beginning(path)
    if beginning is None:  # the file may be executable, though it is not readable
        return
    if beginning.startswith(b"#!"):
        if not os.access(word := _words(beginning)[0], os.X_OK):
            raise _refusal(line, f"{str(path)!a} names {word!a} as its interpreter, but there is no such program")
    elif not beginning.startswith(_ELF) and b"\0" not in beginning:
        raise _refusal(
            line,
            f"{str(path)!a} is a text file whose first line names no interpreter: begin it as in #!/bin/sh",
        )


def interpreter_words(path: Path) -> list[str]:
    """The words of a script's first line, the interpreter first. Empty for another file, or one that cannot be read."""
    beginning = _beginning(path) or b""
    return _words(beginning) if beginning.startswith(b"#!") else []


def _beginning(path: Path) -> bytes | None:
    """The first bytes of a file; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(LOOKED_AT)
    except OSError:
        return None


def _words(beginning: bytes) -> list[str]:
    """The words of a file's first line, split like the kernel does: only at blanks and tabs. So a carriage return is
    part of a name."""
    return re.split(r"[ \t]+", os.fsdecode(beginning[2:].split(b"\n")[0]).strip(" \t"))


def _refusal(line: str, why: str) -> HandlerError:
    return HandlerError(f"exec {line[:200]!a}: {why}")
