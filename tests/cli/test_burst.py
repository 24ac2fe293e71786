"""`supervisor start --burst`: work until nothing is left, then end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from redis import Redis

from holdfast_config import RedisSettings
from tests.cli.commands import Cli

HANDLER = '''
import asyncio
from pathlib import Path
from holdfast import Retry, Task

DONE = Path("done")

async def handle(messages, task: Task):
    """`again` asks to be run once more soon, `wait` runs for longer than that."""
    match messages[-1]["parts"][0]["text"]:
        case "again" if task.attempts == 0:
            raise Retry(after=0.2)
        case "again":
            DONE.touch()
        case "wait":
            while not DONE.exists():
                await asyncio.sleep(0.01)
        case "fail":
            raise ValueError("as told")
'''


def burst(cli: Cli, *options: str) -> tuple[int, str]:
    """The exit status and the last line."""
    (cli.folder / "agent.py").write_text(HANDLER)
    places = ("--runtime-dir", str(cli.folder / "run"), "--state-dir", str(cli.folder / "state"))
    answer = replace(cli, environ={"HOLDFAST_BURST": "1"})("start", "--workers", "2", *places, *options)
    return answer.status, answer.err.splitlines()[-1]


def test_an_empty_embedded_store_ends_at_once(short_path: Path) -> None:
    assert burst(Cli(short_path)) == (0, "supervisor: nothing is left: 0 completed")


def test_all_that_waits_is_done_and_counted(cli: Cli, redis_settings: RedisSettings) -> None:
    cli("submit", "wait", "again")
    cli("submit", "fail", "--max-attempts", "1")
    cli("submit", "later", "--delay", "1h")
    with Redis.from_url(redis_settings.url) as foreign:
        foreign.rpush(redis_settings.queue, b"nobody can read this")
        message = {"message_id": "m", "parts": [{"kind": "text", "text": "x" * 40_000}]}
        entry = {"operation": "run", "params": {"task_id": "large", "message": message}}
        foreign.rpush(redis_settings.queue, json.dumps(entry))
    status, last = burst(cli)
    assert status == 0
    assert last.startswith(
        "supervisor: nothing more can run now: 3 completed, 1 failed; 1 task stays delayed, the next is due in"
    )
    assert burst(cli)[1].startswith("supervisor: nothing more can run now: 0 completed; 1 task")


def test_a_handler_that_cannot_be_imported_is_no_work_done(cli: Cli) -> None:
    answer = cli("start", "nowhere:handle", "--burst", "--runtime-dir", str(cli.folder / "run"))
    assert answer.status == 78
