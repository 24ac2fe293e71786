"""Records on standard error are whole, have ISO times in UTC, and contain no control characters."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog

from holdfast_config.error_text import escape
from holdfast_config.logging import configure

# Clear screen, an 8-bit control sequence, a right-to-left override, a second line, a lone surrogate, delete.
HOSTILE = "a\x1b[2J\x9b1m\u202e\nfake\udc80\x7f"
HARMLESS = r"a\x1b[2J\x9b1m\u202e\nfake\udc80\x7f"

Lines = Callable[[], list[str]]
Records = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


@pytest.fixture
def lines(capfd: pytest.CaptureFixture[str]) -> Lines:
    return lambda: capfd.readouterr().err.splitlines()


@pytest.fixture
def records(lines: Lines) -> Records:
    return lambda: [json.loads(line) for line in lines()]


def test_a_record_is_one_json_line_that_says_who_when_and_what(records: Records) -> None:
    configure("info", "json")
    before = datetime.now(UTC)
    structlog.get_logger("holdfast.worker").info("claimed", task_id="t", slot=1)
    (record,) = records()
    assert record["timestamp"].endswith("Z")
    assert before <= datetime.fromisoformat(record.pop("timestamp")) <= datetime.now(UTC)
    expected = {"level": "info", "logger": "holdfast.worker", "event": "claimed", "pid": os.getpid()}
    assert record == expected | {"task_id": "t", "slot": 1}


@pytest.mark.parametrize(("level", "heard"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_what_is_below_the_level_is_not_written(records: Records, level: str, heard: int) -> None:
    configure(level, "json")
    log = structlog.get_logger("holdfast.test")
    log.debug("x")
    log.info("x")
    log.warning("x")
    log.error("x")
    assert len(records()) == heard


def test_what_libraries_log_comes_in_the_same_lines(records: Records) -> None:
    configure("debug", "json")
    logging.getLogger("redis").info("unheard")
    logging.getLogger("redis").warning("lost %s", "a connection")
    logging.getLogger("asyncio").log(37, "odd level")
    first, second = records()
    assert (first["logger"], first["level"], first["event"]) == ("redis", "warning", "lost a connection")
    assert (second["logger"], second["level"]) == ("asyncio", "warning")


@pytest.mark.parametrize("fmt", ["json", "console"])
def test_untrusted_text_cannot_act_on_a_terminal(lines: Lines, fmt: str) -> None:
    configure("info", fmt)
    log = structlog.get_logger("holdfast.test")
    log.info(HOSTILE, text=HOSTILE, nested={HOSTILE: [HOSTILE]}, raw=HOSTILE.encode("utf-8", "surrogatepass"))
    (line,) = lines()
    assert line.isprintable()
    assert r"\u202e" in line


@pytest.mark.parametrize("fmt", ["json", "console"])
def test_an_exceptions_text_cannot_act_on_a_terminal(lines: Lines, fmt: str) -> None:
    configure("info", fmt)
    try:
        raise RuntimeError(HOSTILE)
    except RuntimeError:
        structlog.get_logger("holdfast.test").exception("failed")
        logging.getLogger("library").exception("failed")
    written = lines()
    assert all(line.isprintable() for line in written)
    assert "Traceback" in "".join(written)
    assert len(written) == 2 or fmt == "console"


def test_no_value_fails_the_caller_or_breaks_the_json(records: Records) -> None:
    configure("info", "json")
    endless: list[object] = []
    endless.append(endless)
    log = structlog.get_logger("holdfast.test")
    log.info("a", value=endless, count=1)
    log.info("b", value=float("nan"))
    log.info("c", value={(1, 2): object})
    first, second, third = records()
    assert (first["value"], first["count"]) == ("[[...]]", 1)
    assert second["value"] == "nan"
    assert third["value"].startswith("{(1, 2)")


def test_escaped_text_shows_what_was_there() -> None:
    assert escape(HOSTILE) == HARMLESS
    assert escape("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"
    assert escape("päivää 你好") == "päivää 你好"
