"""The library in somebody else's program: what it logs is never among the output of the program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BROKER = """
import asyncio
from holdfast import create_broker

async def main():
    async with create_broker() as broker:
        print("open", broker.in_memory)

asyncio.run(main())
"""

FAILING = """
import asyncio
from holdfast import create_broker

async def fail(messages, task):
    task.logger.info("noted", page=3)
    print("in the handler")
    raise ValueError("boom")

async def main():
    async with create_broker(type="memory") as broker, broker.working(fail):
        await broker.manager.wait(await broker.manager.run_task("x", max_attempts=1), timeout=30)

asyncio.run(main())
"""

BASIC = "import logging; logging.basicConfig(level='INFO', format='%(name)s:%(levelname)s:%(message)s')"
OWN = "import structlog; structlog.configure(processors=[structlog.processors.JSONRenderer()])"


def _ran(place: Path, *code: str) -> subprocess.CompletedProcess[str]:
    environ = {"HOME": str(place), "HOLDFAST_RUNTIME_DIR": str(place / "run"), "PATH": "/usr/bin:/bin"}
    program = [sys.executable, "-c", "\n".join(code)]
    ran = subprocess.run(program, cwd=place, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran


def test_a_warning_goes_to_standard_error_and_nothing_to_standard_output(tmp_path: Path) -> None:
    ran = _ran(tmp_path, BROKER)
    assert ran.stdout == "open True\n"
    assert ran.stderr.startswith("no store is named, and no supervisor runs in ")


def test_it_goes_where_the_application_sends_the_lines_of_logging(tmp_path: Path) -> None:
    ran = _ran(tmp_path, BASIC, BROKER)
    assert ran.stdout == "open True\n"
    assert ran.stderr.startswith("holdfast:WARNING:no store is named, ")


def test_workers_in_the_process_log_there_too(tmp_path: Path) -> None:
    ran = _ran(tmp_path, BASIC, FAILING)
    assert ran.stdout == "in the handler\n"
    assert re.search(r"^holdfast.task:INFO:noted task=.* page=3", ran.stderr, re.MULTILINE)
    assert "ValueError: boom" in ran.stderr


def test_structlog_of_an_application_gets_the_lines(tmp_path: Path) -> None:
    ran = _ran(tmp_path, OWN, BROKER)
    assert '"event": "no store is named' in ran.stdout  # the application prints: it has said so
    assert not ran.stderr


@pytest.mark.parametrize("package", ["workers/holdfast", "config/holdfast_config"])
def test_all_modules_of_the_library_log_this_way(package: str) -> None:
    allowed = {"library_log.py", "logging.py"}  # the latter writes the log of a service
    found = [
        path.name
        for path in (ROOT / package).rglob("*.py")
        if path.name not in allowed and re.search(r"structlog\.get_logger\(|\bprint\(", path.read_text())
    ]
    assert found == []
