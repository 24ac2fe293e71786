"""docs/taskmanager.md: its programs are run as they stand, and say what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.ipc.channel import Ready
from holdfast_config import RedisSettings
from tests.cli.commands import clean
from tests.worker.processes import PATIENCE, booting

PAGE = (Path(__file__).parents[2] / "docs" / "taskmanager.md").read_text()
PROGRAMS = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
[TOLD] = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["produce.py", "produce_sync.py"])
def test_a_program_says_what_the_page_says(name: str, redis_settings: RedisSettings, short_path: Path) -> None:
    environ = clean({"REDIS_URL": redis_settings.url, "REDIS_QUEUE_NAME": redis_settings.queue})
    target = "examples.agent:handle"
    with booting(target, folder=short_path, url=redis_settings.url, queue=redis_settings.queue) as worker:
        worker.expect(Ready)
        command = [sys.executable, "-W", "error", "-c", PROGRAMS[name]]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=short_path, env=environ, timeout=PATIENCE, check=False
        )
    assert (done.stdout, done.stderr, done.returncode) == (TOLD, "", 0)
