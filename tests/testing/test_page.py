"""docs/testing.md: its project and its tests, as they are written there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.testing.projects import run_tests

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"^```\w+\n# (\w+\.\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files() -> dict[str, str]:
    return dict(FILE.findall((ROOT / "docs/testing.md").read_text()))


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    written = files()
    del written["conftest.py"]
    report = run_tests(tmp_path, written)
    assert "3 passed" in report.out, report.out


def test_they_pass_with_the_handlers_and_settings_of_a_conftest_too(tmp_path: Path) -> None:
    written = files()
    del written["supervisor.toml"]
    report = run_tests(tmp_path, written)
    assert "3 passed" in report.out, report.out
