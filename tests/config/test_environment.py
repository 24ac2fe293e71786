"""Environment variables that are not settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast_config.environment import credential, no_color, notify_socket, watchdog_usec

PID = str(os.getpid())


def test_the_notify_socket_is_there_only_below_systemd() -> None:
    assert notify_socket({"NOTIFY_SOCKET": "@x"}) == "@x"
    assert notify_socket({"NOTIFY_SOCKET": ""}) is None
    assert notify_socket({}) is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"WATCHDOG_USEC": "20000000"}, 20_000_000),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": PID}, 20_000_000),
        ({"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_counts_only_for_the_process_it_names(environ: dict[str, str], expected: int | None) -> None:
    assert watchdog_usec(environ) == expected


def test_colours_are_off_when_asked_or_impossible() -> None:
    assert no_color({"NO_COLOR": "1"})
    assert no_color({"TERM": "dumb"})
    assert not no_color({"NO_COLOR": "", "TERM": "xterm"})


def test_a_credential_is_the_file_without_its_last_line_break(tmp_path: Path) -> None:
    (tmp_path / "redis_password").write_text(" s3cret \r\n")
    assert credential("redis_password", {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == " s3cret "
    assert credential("other", {"CREDENTIALS_DIRECTORY": str(tmp_path)}) is None
    assert credential("redis_password", {}) is None
