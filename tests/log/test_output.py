"""The output of a handler becomes lines of the log that name its task; all other output passes as it is."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest
import structlog

from holdfast.worker.output_capture import LONGEST, TaskStream, end_of, finish, unfinished
from holdfast_config.logging import CURRENT, configure

Lines = Callable[[], list[dict[str, Any]]]


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def log_fields(self) -> Mapping[str, object]:
        return {"task": self.name}


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    configure("error", "json")  # what handlers print is logged at any level
    token = CURRENT.set(None)
    yield
    CURRENT.reset(token)
    unfinished.clear()
    structlog.reset_defaults()


@pytest.fixture
def lines(capfd: pytest.CaptureFixture[str]) -> Lines:
    return lambda: [json.loads(line) for line in capfd.readouterr().err.splitlines()]


@pytest.fixture
def below() -> BytesIO:
    return BytesIO()


@pytest.fixture
def stream(below: BytesIO) -> TaskStream:
    return TaskStream("stdout", TextIOWrapper(below, "utf-8", write_through=True))


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["line"] + ("+" if line.get("partial") else "") for line in lines]


def test_each_line_is_a_record_with_its_task(stream: TaskStream, lines: Lines) -> None:
    CURRENT.set(Named("t"))
    print("one", 1, file=stream)
    print("two\n\nthree", file=stream)
    found = lines()
    assert texts(found) == ["one 1", "two", "", "three"]
    assert {(line["task"], line["stream"], line["event"], line["level"]) for line in found} == {
        ("t", "stdout", "output", "info")
    }


def test_what_no_task_prints_passes_as_it_is(stream: TaskStream, below: BytesIO, lines: Lines) -> None:
    print("free", file=stream)
    stream.buffer.write(b"\xff\n")
    stream.flush()
    assert below.getvalue() == b"free\n\xff\n"
    assert lines() == []


def test_a_line_waits_for_its_end(stream: TaskStream, lines: Lines) -> None:
    CURRENT.set(Named("t"))
    for part in ("a", "b", "c\nd"):
        stream.write(part)
    assert texts(lines()) == ["abc"]


def test_a_flush_logs_what_has_begun(stream: TaskStream, lines: Lines) -> None:
    CURRENT.set(Named("t"))
    print("half", end="", flush=True, file=stream)
    assert texts(lines()) == ["half+"]
    print(" done", file=stream, flush=True)
    assert texts(lines()) == [" done"]


def test_the_end_of_a_task_logs_its_line_alone(stream: TaskStream, lines: Lines) -> None:
    first, second = Named("first"), Named("second")
    for task in (first, second):
        CURRENT.set(task)
        stream.write(task.name)
    end_of(first)
    end_of(first)
    assert [(line["task"], line["line"]) for line in lines()] == [("first", "first")]
    finish()
    assert [(line["task"], line["line"]) for line in lines()] == [("second", "second")]


def test_threads_of_a_task_do_not_mix_their_lines(stream: TaskStream, lines: Lines) -> None:
    task = Named("t")
    CURRENT.set(task)
    stream.write("here ")
    thread = threading.Thread(target=contextvars.copy_context().run, args=(print, "there"), kwargs={"file": stream})
    thread.start()
    thread.join()
    stream.write("again\n")
    assert texts(lines()) == ["there", "here again"]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1, 3 * LONGEST, 1_000_000])
def test_a_long_line_is_logged_in_pieces_and_none_is_lost(
    stream: TaskStream, lines: Lines, length: int, end: str
) -> None:
    task = Named("t")
    CURRENT.set(task)
    text = "".join(chr(ord("a") + number % 26) for number in range(length))
    stream.write(text + end)
    end_of(task)
    found = lines()
    assert "".join(line["line"] for line in found) == text
    assert max(len(line["line"]) for line in found) <= LONGEST
    assert [line.get("partial", False) for line in found] == [True] * (len(found) - 1) + [False]


def test_a_line_without_end_is_not_kept_whole(stream: TaskStream, lines: Lines) -> None:
    CURRENT.set(Named("t"))
    stream.write("x" * (2 * LONGEST + 1))
    assert [len(text) for text in texts(lines())] == [LONGEST + 1, LONGEST + 1]  # each with its mark


def test_bytes_are_read_as_utf8_and_what_is_none_is_escaped(stream: TaskStream, lines: Lines) -> None:
    task = Named("t")
    CURRENT.set(task)
    whole = "päivää ".encode()
    for at in range(len(whole)):
        stream.buffer.write(whole[at : at + 1])
    stream.buffer.write(b"\xff\x00\n\xe2\x82")
    stream.buffer.flush()
    assert texts(lines()) == ["päivää \\xff\x00"]
    stream.buffer.write(b"\xac\n\xe2")
    end_of(task)
    assert texts(lines()) == ["€", "\\xe2"]


def test_hostile_text_stays_in_its_line(stream: TaskStream, capfd: pytest.CaptureFixture[str]) -> None:
    CURRENT.set(Named("t\n\x1b[2J\udc80"))
    print('\x1b[2J\x9b1m\u202e\udc80\x7f"}', file=stream)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["line"] == '\x1b[2J\x9b1m\u202e\udc80\x7f"}'


def test_it_stands_in_for_the_stream_below(stream: TaskStream) -> None:
    assert stream.encoding == "utf-8"
    assert stream.buffer.readable()
    with pytest.raises(OSError, match="fileno"):  # as the stream below says
        stream.fileno()
    CURRENT.set(Named("t"))
    assert not stream.isatty()
    with pytest.raises(TypeError, match="must be str, not bytes"):
        stream.write(b"x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    stream.writelines(["a\n", "b\n"])


def test_a_forked_process_does_not_repeat_what_was_begun(stream: TaskStream, lines: Lines) -> None:
    CURRENT.set(Named("t"))
    stream.write("begun")
    unfinished.clear()
    finish()
    assert lines() == []


def test_many_lines_are_all_written(stream: TaskStream, lines: Lines) -> None:
    CURRENT.set(Named("t"))
    for number in range(500):
        print(number, file=stream)
    assert texts(lines()) == [str(number) for number in range(500)]
