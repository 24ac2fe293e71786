"""Draws the picture in the README: `python -m holdfastd.demo.picture FILE.svg` runs the demonstration and draws its
last screen."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from holdfastd.demo import demonstration
from holdfastd.demo.demonstration import Demonstration, DemoProgress, run_demo

WIDTH = 78


def draw(path: Path, program: Demonstration) -> bool:
    """Draw the picture unless a promise was broken. True if it was drawn."""
    shown: list[DemoProgress] = []
    result = run_demo(program, shown.append)
    breaches = result.breaches(program.tasks)
    if breaches:
        return False
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print("[bold]$ supervisor demo[/bold]")
        console.print(demonstration.progress_panel(shown[-1]))
        console.print(demonstration.result_panel(result, breaches))
        console.save_svg(str(path), title="supervisor demo")
    return True


if __name__ == "__main__":
    sys.exit(not draw(Path(sys.argv[1]), Demonstration()))
