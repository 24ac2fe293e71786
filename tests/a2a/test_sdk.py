"""The clients of a2a-sdk send, stream, answer, come back and cancel while workers are killed.

`make test-a2a` sets up an environment for each version of the SDK; without one its test is skipped.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.a2a.conftest import ServedPool
from tests.a2a.thin_client import TOKEN

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "sdk"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("venv", "program"), [(".venv-a2a", "client_1_0.py"), (".venv-a2a-03", "client_0_3.py")], ids=["1.x", "0.3"]
)
def test_a_client_of_the_sdk_loses_nothing_while_workers_are_killed(pool: ServedPool, venv: str, program: str) -> None:
    python = ROOT / venv / "bin/python"
    if not python.exists():
        pytest.skip(f"{venv} is not there: make test-a2a sets it up")
    words = [python, PROGRAMS / program, pool.base, TOKEN, pool.folder]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    said, kills = [], 0
    with subprocess.Popen(words, text=True, **pipes) as client:  # type: ignore[call-overload]
        for line in client.stdout:
            said.append(line.strip())
            if line == "kill\n":
                kills += pool.kill_workers()
                client.stdin.write("\n")
                client.stdin.flush()
        errors = client.stderr.read()
    assert (said, client.returncode) == (["kill", "kill", "kill", "done"], 0), errors
    assert kills >= 3
