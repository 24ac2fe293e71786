"""The embedded store is backed up by copying its folder, also while it runs, and restored by putting the copy back."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.conftest import running

HANDLER = """
async def handle(messages):
    return "done"
"""


def test_a_copy_made_while_it_runs_brings_back_what_was_there(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    data, copy = short_path / "state" / "store", short_path / "copy"
    with running(short_path, "--workers", "1") as (cli, _):
        assert cli("submit", "--wait", "--task-id", "ended", "x").status == 0
        assert cli("submit", "--task-id", "later", "--delay", "1h", "x").status == 0
        shutil.copytree(data, copy)
        assert cli("submit", "--wait", "--task-id", "after", "x").status == 0
        assert cli("stop").status == 0
    shutil.rmtree(data)
    shutil.copytree(copy, data)
    with running(short_path, "--workers", "1") as (cli, _):
        assert cli("tasks", "show", "ended", "--json").document["state"] == "completed"
        assert cli("tasks", "show", "later", "--json").document["state"] == "delayed"
        assert cli("tasks", "show", "after").status == 1
        assert cli("submit", "--wait", "x").status == 0
