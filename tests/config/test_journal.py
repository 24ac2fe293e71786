"""Lines for the journal of systemd begin with their priority; all others do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from holdfast_config.standard_error import is_journal, prioritised

LOGS = """
import structlog
from holdfast_config.logging import configure
configure("info", {fmt!r})
log = structlog.get_logger("x")
log.info("told")
log.warning("odd")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("broken")
"""


LEVELS = """
import structlog
from holdfast_config.logging import configure
configure("debug", "json")
for level in ("debug", "info", "warning", "error", "critical"):
    getattr(structlog.get_logger("x"), level)("noted")
"""


def logged(fmt: str, *, named: bool) -> list[str]:
    return lines_of("-c", LOGS.format(fmt=fmt), named=named)


def lines_of(*arguments: str, named: bool = True) -> list[str]:
    """Lines of a Python process whose standard error is a pipe, which is named as the journal or is not."""
    ours, theirs = os.pipe()
    stat = os.fstat(theirs)
    stream = {"JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino + (not named)}"}
    subprocess.run([sys.executable, *arguments], stderr=theirs, check=False, env=os.environ | stream)
    os.close(theirs)
    with os.fdopen(ours) as text:
        return text.read().splitlines()


def test_each_record_has_its_priority() -> None:
    assert [line[:4] for line in logged("json", named=True)] == ["<6>{", "<4>{", "<3>{"]


def test_each_line_of_a_traceback_has_its_priority() -> None:
    told, odd, *broken = logged("console", named=True)
    assert (told[:3], odd[:3]) == ("<6>", "<4>")
    assert len(broken) > 3
    assert {line[:3] for line in broken} == {"<3>"}


def test_another_reader_gets_no_priorities() -> None:
    assert {line[0] for line in logged("json", named=False)} == {"{"}


@pytest.mark.parametrize("stream", ["", "1", "a:b", "1:2:3", ":"])
def test_a_stream_that_is_not_this_one_is_not_the_journal(stream: str) -> None:
    assert not is_journal(2, {"JOURNAL_STREAM": stream})


def test_an_unknown_level_counts_as_information() -> None:
    assert prioritised("a\nb", "loud") == "<6>a\n<6>b"


def test_each_level_has_a_priority_of_its_own() -> None:
    found = {json.loads(line[3:])["level"]: line[:3] for line in lines_of("-c", LEVELS)}
    assert found == {"debug": "<7>", "info": "<6>", "warning": "<4>", "error": "<3>", "critical": "<2>"}


def test_what_a_command_reports_has_its_priority() -> None:
    lines = lines_of("-c", "from holdfastd.cli.main import main; main()", "start", "--workers", "none")
    assert lines
    assert {line[:14] for line in lines} == {"<3>supervisor:"}
