"""Reads the tasks of `submit` from a file or a pipe of any length, part by part."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

import anyio
import msgspec

from holdfast.client.task_spec import TaskSpec
from holdfast.core.identity import uuid_text
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError
from holdfastd.operations.reading import misfit

# Derives the id of a line's task, so that the same lines submitted again are the same tasks.
#
# The id comes from the source of the lines (the path of the file, or --key), the options of the command, the number of
# the line and its bytes. A corrected line is another task; two files with the same lines are different tasks.

OF_THE_LINE = ("task_id", "key", "debounce", "unique")  # with one of these the line itself says which task it is


class LineIds:
    """Makes the id of the task of each line of an input. `source`: the path of the file, or the key. `template`: the
    options of the command."""

    def __init__(self, source: str, template: TaskSpec) -> None:
        self._prefix = hashlib.sha1(os.fsencode(source) + b"\0" + ascii(template).encode(), usedforsecurity=False)

    def identified(self, spec: TaskSpec, number: int, content: bytes) -> TaskSpec:
        """The task of this line with its id. A line that says itself which task it is (OF_THE_LINE) stays unchanged."""
        if any(getattr(spec, name) is not None for name in OF_THE_LINE):
            return spec
        digest = self._prefix.copy()
        digest.update(b"\0%d\0%b" % (number, content))
        return msgspec.structs.replace(spec, task_id=uuid_text(digest.digest(), 5))


def path_of(stream: BinaryIO) -> str | None:
    """The path of the file that is read. None for standard input, and for anything else than a regular file, such as a
    pipe."""
    if stream.name == "<stdin>" or not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return None
    return os.path.realpath(stream.name)


CHUNK = 1 << 16

Line = tuple[int, bytes]  # its number, from 1, and its content without its end


@dataclass(frozen=True, slots=True)
class Item:
    """A task to submit, and the line it came from (0: from the command line)."""

    number: int
    spec: TaskSpec


class BadLineError(InvalidTaskError):
    """A line of the input is not a task."""

    def __init__(self, number: int, cause: object) -> None:
        super().__init__(f"line {number}: {cause}")


async def chunks(descriptor: int, longest: int) -> AsyncIterator[list[Line]]:
    """The lines that are not blank, in chunks of what can be read without waiting. Raises BadLineError for a line
    longer than `longest` bytes."""
    number, torn = 0, b""
    while read := await _read(descriptor):
        *whole, torn = (torn + read).split(b"\n")
        if len(torn) > longest:
            raise BadLineError(number + len(whole) + 1, f"longer than {longest} bytes, the limit for a message")
        yield _numbered(whole, number)
        number += len(whole)
    yield _numbered([torn], number)


def _numbered(lines: list[bytes], before: int) -> list[Line]:
    return [(n, line.rstrip(b"\r")) for n, line in enumerate(lines, before + 1) if line.strip()]


async def _read(descriptor: int) -> bytes:
    """The bytes that can be read now. Waiting for a pipe or a terminal does not block the loop and can be cancelled."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        with suppress(PermissionError):  # a device such as /dev/null cannot be waited for: it is always ready
            await anyio.wait_readable(descriptor)
    return os.read(descriptor, CHUNK)


Parse = Callable[[bytes], TaskSpec]


async def from_lines(
    descriptor: int, parse: Parse, longest: int, ids: LineIds | None = None
) -> AsyncIterator[list[Item]]:
    """The task of each line, in chunks, with its id if `ids` gives it one. Raises BadLineError at the first line that
    is not a task."""
    async for lines in chunks(descriptor, longest):
        yield [_item(line, parse, ids) for line in lines]


def _item(line: Line, parse: Parse, ids: LineIds | None) -> Item:
    number, content = line
    try:
        spec = parse(content)
        return Item(number, ids.identified(spec, number, content) if ids else spec)
    except msgspec.ValidationError as error:
        raise BadLineError(number, misfit(error, TaskSpec)) from None
    except (msgspec.DecodeError, RecursionError, InvalidTaskError) as error:
        raise BadLineError(number, error) from None
    except UnicodeDecodeError:
        raise BadLineError(number, "not UTF-8") from None


def text_parser(template: TaskSpec) -> Parse:
    """A parser that takes each line as the text of a task like `template`."""
    return lambda content: msgspec.structs.replace(template, text=content.decode())


def json_parser(template: TaskSpec) -> Parse:
    """A parser of JSON objects with the keys of TaskSpec. `template`: the values of keys that a line leaves out. It
    raises InvalidTaskError for a line that names another handler than `template`."""
    decode = msgspec.json.Decoder(TaskSpec).decode
    usual = {key: value for key, value in msgspec.structs.asdict(template).items() if value is not None}

    def parse(content: bytes) -> TaskSpec:
        spec = decode(content)
        if spec.name and template.name and spec.name != template.name:
            raise InvalidTaskError(f"name: {shown(spec.name)}, but --name is {shown(template.name)}: omit one of them")
        missing = {key: value for key, value in usual.items() if getattr(spec, key) is None}
        return msgspec.structs.replace(spec, **missing) if missing else spec

    return parse
