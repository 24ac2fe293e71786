"""mypy and basedpyright know the arguments and the values of the tasks of registered handlers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MISUSED = ROOT / "tests/handler/misused_handlers.py"
ERROR = re.compile(rf"{MISUSED.name}:(\d+)(?::\d+)?(?: -|:) error")
CHECKERS = {
    "mypy": ("-m", "mypy", "--strict", "--no-error-summary"),
    "basedpyright": ("-m", "basedpyright", "--level", "error"),
}


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", pytest.param("basedpyright", marks=pytest.mark.long)])
def test_a_misused_handler_fails_the_type_checker(checker: str) -> None:
    command = [sys.executable, *CHECKERS[checker], str(MISUSED)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    wrong = [number for number, line in enumerate(MISUSED.read_text().splitlines(), 1) if line.endswith("# wrong")]
    assert sorted({int(number) for number in ERROR.findall(answer)}) == wrong, answer
