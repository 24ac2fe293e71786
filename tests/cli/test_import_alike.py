"""A module is imported in one way, without a running event loop, by whatever imports it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Cli
from tests.cli.conftest import running
from tests.single.process import single

RUNS_A_LOOP = """
import asyncio

async def load(): return 5

CONFIG = asyncio.run(load())

async def handle(messages): return CONFIG
"""
STARTS_A_THREAD = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
# What `gevent.monkey.patch_all()` and `eventlet.monkey_patch()` leave behind: standard functions of other modules.
PATCHES = """
import {module}

def green(*arguments): raise RuntimeError("this is no hub")

green.__module__ = "{origin}"
{module}.{function} = green

async def handle(messages): ...
"""
NEEDS_A_LOOP = """
import asyncio
LOOP = asyncio.get_running_loop()
async def handle(messages): ...
"""


def test_check_and_doctor_import_as_a_worker_does(alone: Cli) -> None:
    (alone.folder / "agent.py").write_text(RUNS_A_LOOP)
    assert alone("check").status == 0
    (alone.folder / "agent.py").write_text(NEEDS_A_LOOP)
    answer = alone("check")
    assert (answer.status, "no running event loop" in answer.err) == (78, True)


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (RUNS_A_LOOP, ()),
        (RUNS_A_LOOP, ("--no-preload",)),
        (RUNS_A_LOOP, ("--reload",)),
        (RUNS_A_LOOP + STARTS_A_THREAD, ()),
        (RUNS_A_LOOP, ("--loop", "asyncio", "--no-preload")),
    ],
    ids=["preloaded", "no-preload", "reload", "a-thread", "asyncio"],
)
def test_workers_import_it_alike(short_path: Path, source: str, options: tuple[str, ...]) -> None:
    (short_path / "agent.py").write_text(source)
    with running(short_path, "--workers", "1", *options) as (cli, _):
        assert cli("submit", "a", "--wait").lines[0]["result"] == 5


def test_a_service_with_the_queue_in_memory_imports_it_alike(tmp_path: Path) -> None:
    with single(tmp_path, RUNS_A_LOOP) as service:
        service.until("1 worker ready")
        service.process.terminate()
        assert service.ended()[0] == 0


def test_check_and_start_refuse_an_annotation_that_nobody_knows(alone: Cli) -> None:
    source = "async def ship(order: Order): ..."
    begin = "from __future__ import annotations\nfrom holdfast import Handlers\nhandlers = Handlers()\n"
    (alone.folder / "agent.py").write_text(f"{begin}@handlers.register('ship')\n{source}\n")
    for words in (("check",), ("start", "--state-dir", str(alone.folder / "state"))):
        answer = alone(*words[:1], "agent:handlers", *words[1:])
        assert (answer.status, "order: Order" in answer.err) == (78, True)


@pytest.mark.parametrize(
    ("library", "module", "function", "origin"),
    [
        ("gevent", "time", "sleep", "gevent.hub"),
        ("gevent", "select", "select", "gevent.select"),
        ("gevent", "_thread", "start_new_thread", "gevent.thread"),
        ("gevent", "os", "fork", "gevent.os"),
        ("eventlet", "socket", "socket", "eventlet.greenio.base"),
    ],
)
def test_check_and_start_refuse_a_patched_standard_library(
    alone: Cli, library: str, module: str, function: str, origin: str
) -> None:
    (alone.folder / "agent.py").write_text(PATCHES.format(module=module, function=function, origin=origin))
    for words in (("check",), ("start", "--state-dir", str(alone.folder / "state"))):
        answer = alone(*words)
        told = [
            line for line in answer.err.splitlines() if line.startswith("supervisor: importing agent monkey-patched")
        ]
        assert (answer.status, len(told)) == (78, 1), answer.err
        assert f"with {library} ({module}.{function} is replaced)" in told[0]
        assert "leave the patching out" in told[0]
