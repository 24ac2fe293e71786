"""docs/bindu.md: its program is run as it stands, and says what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("bindu", reason="needs the extra bindu, on Python 3.12 or later")

from holdfast_config import RedisSettings
from tests.cli.commands import clean
from tests.worker.processes import PATIENCE

PAGE = (Path(__file__).parents[2] / "docs" / "bindu.md").read_text()
[PROGRAM] = re.findall(r"^```python\n# application.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
[TOLD] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_program_says_what_the_page_says(
    redis_settings: RedisSettings, short_path: Path, working: Callable[..., None]
) -> None:
    working("examples.agent:handle")
    environ = clean({"REDIS_URL": redis_settings.url, "REDIS_QUEUE_NAME": redis_settings.queue})
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=short_path, env=environ, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == TOLD.strip()
