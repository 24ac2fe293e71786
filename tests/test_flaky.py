"""No test is tried again unless it says why; there are four of them at most, with the one below."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 4
RUNNERS = ("Makefile", "pyproject.toml", ".ci/test-bindu")

FAILS_ONCE = """
import pytest

tries = []

@pytest.mark.flaky(reruns=2, reason="its first try is always too early")
def test_x():
    tries.append(1)
    assert len(tries) == 2
"""


def flaky_marks() -> Iterator[tuple[str, ast.Call]]:
    """The file and the call of each mark in the tests."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "flaky":
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_flaky_tests_are_few_and_say_why() -> None:
    marks = list(flaky_marks())
    assert len(marks) <= MOST, [place for place, _ in marks]
    for place, mark in marks:
        given = {word.arg: word.value for word in mark.keywords}
        assert {"reruns", "reason"} == given.keys(), place
        assert isinstance(given["reruns"], ast.Constant), place
        assert given["reruns"].value == 2, place


@pytest.mark.parametrize("path", RUNNERS)
def test_the_suite_as_a_whole_has_no_second_try(path: str) -> None:
    assert "--reruns" not in (ROOT / path).read_text()


def test_a_flaky_test_is_listed_with_its_tries_and_its_reason(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(FAILS_ONCE)
    words = ["-p", "no:cacheprovider", "-p", "tests.conftest", "-n", "1", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "2 tries of test_x.py::test_x: its first try is always too early" in done.stdout
