"""The lines of a dead store's log that are quoted."""

from __future__ import annotations

from pathlib import Path

from holdfastd.embedded.data_folder import read_start_failure

BEGIN = "77:C 21 Nov 2026 15:04:01.3 # WARNING Memory overcommit must be enabled!\n"
OTHER = "78:M 21 Nov 2026 15:04:01.4 # Somebody else's trouble\n"
BAD = "77:M 21 Nov 2026 15:04:01.5 # Bad file format reading the append only file\n"
ASKED = "77:M 21 Nov 2026 15:04:01.8 # User requested shutdown...\n"
FAREWELL = "77:M 21 Nov 2026 15:04:01.9 # Valkey is now ready to exit, bye bye...\n"


def failure_in(tmp_path: Path, log: str) -> str:
    (tmp_path / "server.log").write_text(log)
    return read_start_failure(tmp_path / "server.log", 77)


def test_its_own_last_serious_words_are_quoted(tmp_path: Path) -> None:
    failure = failure_in(tmp_path, BEGIN + BAD + OTHER)
    assert failure.startswith("the embedded store cannot start: Bad file format reading the append only file; see ")


def test_one_that_was_told_to_end_has_nothing_to_complain_of(tmp_path: Path) -> None:
    assert failure_in(tmp_path, BEGIN + OTHER + ASKED + FAREWELL) == ""


def test_without_a_log_nothing_is_quoted(tmp_path: Path) -> None:
    assert read_start_failure(tmp_path / "server.log", 77) == ""
    assert failure_in(tmp_path, BEGIN) == ""
