"""docs/api.md: its examples run, against a real process; its table has each operation."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import clean
from tests.docs.operations_table import renewed
from tests.docs.test_code_blocks import blocks
from tests.servers import valkey
from tests.web.test_process import TOKEN, alone

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/api.md"


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("a")
    with valkey(folder) as url, alone(folder, url, "0") as (_, address):
        yield clean({"API": f"{address}api/v1", "TOKEN": TOKEN})


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_examples_of_curl_run_one_after_the_other(environ: dict[str, str]) -> None:
    scripts = blocks(PAGE, "sh")
    assert len(scripts) == 5
    answers = [
        subprocess.run(["bash", "-ec", script], env=environ, capture_output=True, text=True, timeout=120)
        for script in scripts
    ]
    assert [answer.returncode for answer in answers] == [0] * 5, answers
    assert answers[0].stdout == '{"task_id":"greeting-1","answer":"new"}'
    assert '"removed":true' in answers[3].stdout


def test_the_example_in_python_runs(environ: dict[str, str]) -> None:
    program, _ = blocks(PAGE, "python")  # the other one: tests/web/test_generated_client.py
    for _ in range(2):
        ran = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, timeout=120)
        assert (ran.stdout, ran.stderr) == ("submitted None\n", "")


def test_the_table_has_each_operation() -> None:
    """`python -m tests.docs.operations_table docs/api.md` renews it."""
    assert renewed(PAGE.read_text()) == PAGE.read_text()
    assert "Lists have `limit`" in PAGE.read_text()
