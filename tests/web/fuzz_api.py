"""Plays requests at random against the HTTP API by its own OpenAPI document: `make test-api`.

A bundled Valkey and `supervisor web` are started; the queue has a task in each state that needs no worker, a batch, a
schedule. The first argument is the program `schemathesis`; further ones go to it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings
from tests.cli.commands import clean
from tests.servers import valkey

TOKEN = "a-token-of-sixteen-or-more"
LOGIN = {"authorization": f"Bearer {TOKEN}"}
SUPERVISOR = Path(sys.executable).with_name("supervisor")
SETTINGS = Path(__file__).with_name("schemathesis.toml")


def main(schemathesis: str, *options: str) -> int:
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder, valkey(Path(folder)) as url:
        environ = clean({"HOLDFAST_WEB_TOKEN": TOKEN})
        words = [str(SUPERVISOR), "web", "0", "--redis-url", url]
        with subprocess.Popen(words, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True) as web:
            try:
                assert web.stderr
                address = next(line for line in web.stderr if "dashboard at" in line).split()[-1]
                fill(f"{address}api/v1")
                asyncio.run(fill_batch(url))
                return play(schemathesis, address, folder, *options)
            finally:
                web.kill()


def play(schemathesis: str, address: str, folder: str, *options: str) -> int:
    command = [schemathesis, "--config-file", str(SETTINGS), "run", f"{address}api/v1/openapi.json"]
    environ = clean({"PYTHONPATH": "", "API_TOKEN": TOKEN})
    return subprocess.run([*command, *options], cwd=folder, env=environ, check=False).returncode


def fill(api: str) -> None:
    """Records of each kind."""
    with httpx.Client(base_url=api, headers=LOGIN, timeout=60) as client:
        for task_id in ("waits", "paused", "canceled"):
            assert client.post("/tasks", json={"text": "x", "task_id": task_id}).status_code == 201
        assert client.post("/tasks/paused/pause").status_code == 200
        assert client.post("/tasks/canceled/cancel").status_code == 200
        spec = {"cron": "0 2 * * *", "text": "x"}
        assert client.put("/schedules/nightly", json=spec).status_code == 201


async def fill_batch(url: str) -> None:
    """A batch, which the API does not submit."""
    async with open_store(RedisSettings(url=url)) as store:
        manager = TaskManager(store, queue=Settings().queue_name)
        await manager.run_tasks([TaskSpec(text="a"), TaskSpec(text="b")], batch="b1")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else os.EX_USAGE)
