"""Pictures of `supervisor top` for the docs: `python -m bench.pictures FOLDER`.

Runs a pool with tasks of several handlers for a minute, one of which ends its workers, and draws what top shows then,
for dark and for light pages.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME, TerminalTheme

from holdfast import TaskManager, TaskSpec
from holdfast.store import open_store
from holdfast_config import load
from holdfastd.cli.top import draw
from holdfastd.cli.top.look import Look, Observer
from holdfastd.cli.top.panes import PANES, shown_rows
from holdfastd.cli.top.screen_state import Screen

WIDTH, HEIGHT = 120, 22
MAIN = "from holdfastd.cli.main import main; main()"
LANES = ("high=4", "bindu:tasks=2", "low=1")
SECONDS = 75.0  # so that the figures of a whole minute are there
THEMES = {"dark": SVG_EXPORT_THEME, "light": DEFAULT_TERMINAL_THEME}
SHOWN = ("workers", "lanes", "handlers")
KINDS = (  # of each 100 tasks: how many, of which handler, in which lane
    *((59, "mail.send", "high"), (11, "report.draw", None), (30, "import.read", "low")),
)


@contextmanager
def pool(folder: Path) -> Generator[dict[str, str]]:
    """A pool that runs while the block does; its settings."""
    places = {"runtime_dir": str(folder / "run"), "state_dir": str(folder / "state"), "lanes": ",".join(LANES)}
    flags = [word for name, value in places.items() for word in (f"--{name.replace('_', '-')}", value)]
    program = [sys.executable, "-c", MAIN, "start", "bench.apps.pictured:handlers"]
    command = [*program, "--workers", "6", *flags, "--concurrency", "8"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            if not any("workers ready" in line for line in process.stderr):
                raise RuntimeError("the pool did not start")
            yield places
        finally:
            process.terminate()


@asynccontextmanager
async def load_of_tasks(manager: TaskManager) -> AsyncIterator[None]:
    """Tasks come, a little more than the workers can do of some."""

    async def submit() -> None:
        numbers = count(1)
        while True:
            kinds = [(name, lane) for many, name, lane in KINDS for _ in range(many)]
            await manager.run_tasks(
                TaskSpec(name=name, lane=lane, kwargs={"number": next(numbers)}) for name, lane in kinds
            )
            await anyio.sleep(1.0)

    async with anyio.create_task_group() as group:
        group.start_soon(submit)
        yield
        group.cancel_scope.cancel()


async def seen(places: dict[str, str]) -> Look:
    """The pool after a while, on a host of no name."""
    settings = load(places)
    async with open_store(settings.redis) as store:
        manager = TaskManager(store, queue=settings.queue_name)
        observer, look = Observer(store, settings.runtime_folder.check()), Look()
        await manager.run_tasks([TaskSpec(name="report.broken", kwargs={"number": 0})])
        until = anyio.current_time() + SECONDS
        async with load_of_tasks(manager):
            while anyio.current_time() < until:
                look = await observer.look()
                await anyio.sleep(0.5)
    return replace(look, workers=[replace(worker, host="host-1") for worker in look.workers])


def drawn(look: Look, pane: str, theme: TerminalTheme) -> str:
    rows = shown_rows(PANES[pane], look, "", None, is_reversed=False)
    screen = Screen(pane=pane, rows=len(rows), columns=len(PANES[pane].columns))
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, height=HEIGHT, file=nowhere, force_terminal=True)
        console.print(draw.drawn(screen, look, rows, WIDTH, HEIGHT, draw.Told()))
        return console.export_svg(title="supervisor top", theme=theme, unique_id=f"top-{pane}")


def main(folder: Path) -> None:
    with TemporaryDirectory(prefix="holdfast-") as place, pool(Path(place)) as places:
        look = anyio.run(seen, places)
    for pane in SHOWN:
        for end, theme in THEMES.items():
            (folder / f"top-{pane}-{end}.svg").write_text(_trimmed(drawn(look, pane, theme)))


def _trimmed(svg: str) -> str:
    """Without blanks at the ends of lines."""
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
