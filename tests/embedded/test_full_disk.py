"""The disk under the embedded store fills up while the service works: nothing is lost, and it goes on by itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.cli.commands import Cli
from tests.cli.conftest import running
from tests.cli.limits import limited, make_room

HANDLER = '''
from pathlib import Path

async def handle(messages):
    """Waits until somebody writes, where it is told a file; else it counts."""
    text = messages[-1]["parts"][0]["text"]
    if not text.startswith("/"):
        return len(text)
    Path(text, "runs").open("w").close()
    import anyio.to_thread
    return await anyio.to_thread.run_sync(Path(text, "go").read_text)
'''
LARGE = "x" * 100_000


def fill(cli: Cli) -> int:
    """Submit until it is refused; how many were accepted."""
    for accepted in range(100):
        answer = cli("submit", LARGE, "--submit-timeout", "3")
        if answer.status:
            assert answer.status == 69
            again, refusal, *rest = answer.err.splitlines()
            assert again == f"{refusal}: retrying for up to 3 s"
            assert "cannot write to its disk, and refuses tasks until it can: MISCONF" in refusal
            assert rest == ["supervisor: 0 of 1 tasks were accepted before this error"]
            return accepted
    raise AssertionError("the disk is never full")


def status_where(cli: Cli, wanted: bool) -> dict[str, Any]:
    """The status once it is degraded, or no more."""
    for _ in range(100):
        status: dict[str, Any] = cli("status", "--json").document
        if bool(status["degraded"]) is wanted:
            return status
    raise AssertionError(status)


def test_submits_are_refused_results_kept_and_all_goes_on_when_there_is_room(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    for name in ("runs", "go"):
        os.mkfifo(short_path / name)
    with running(short_path, "--workers", "2", before=limited(kib=1100)) as (cli, _):
        waiting = cli("submit", str(short_path)).out.strip()
        (short_path / "runs").read_bytes()  # until the handler has opened it
        accepted = fill(cli)
        (short_path / "go").write_text("kept while the disk was full")
        status = status_where(cli, wanted=True)
        assert "cannot write to its disk" in status["degraded"]
        assert status["ready"] == 2
        assert cli("tasks", "show", waiting, "--json").document["state"] == "working"
        make_room(status["store"]["pid"])
        assert status_where(cli, wanted=False)["deaths"]["total"] == 0
        assert cli("submit", "after", "--wait").status == 0
        for _ in range(100):  # the two workers do not try again at the same moment
            counters = cli("status", "--json").document["counts"]["counters"]
            if counters["completed"] == accepted + 2:
                break
        assert counters["completed"] == accepted + 2
        shown = cli("tasks", "show", waiting, "--json").document
        assert (shown["state"], shown["deliveries"]) == ("completed", 1)
        assert shown["result"] == "kept while the disk was full"
