"""The process of a service: the one that was started, without what only the command line needs."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import click

from holdfastd.cli.common.click_version import set_version
from tests.cli.conftest import running

HANDLER = """
import os, sys
from holdfast import Handlers

handlers = Handlers()

@handlers.default
def handle(messages):
    return [sorted({name.partition(".")[0] for name in sys.modules}), sorted(os.environ)]
"""
UNUSED = {"click", "rich_click", "rich", "pygments", "opentelemetry"}
USED = {"redis", "structlog", "uvloop"}


def test_workers_carry_nothing_of_the_command_line(short_path: Path) -> None:
    (short_path / "agent.py").write_text(HANDLER)
    with running(short_path, "agent:handlers", "--workers", "1") as (cli, process):
        modules, variables = cli("submit", "a", "--wait").lines[0]["result"]
        assert UNUSED & set(modules) == set()
        assert set(modules) >= USED
        assert "HOLDFAST_SERVICE_ORDER" not in variables
        assert cli("status", "--json").document["pid"] == process.pid
        title = Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")
        assert title[2:6] == ["start", "agent:handlers", "--workers", "1"]
        assert not [link for link in Path(f"/proc/{process.pid}/fd").iterdir() if "pipe:" in _target(link, above=2)]


def test_click_gets_the_version_that_is_installed() -> None:
    set_version()
    assert vars(click)["__version__"] == version("click")


def _target(link: Path, above: int) -> str:
    """The target of a descriptor, but of the standard streams none."""
    return str(link.readlink()) if int(link.name) > above else ""
