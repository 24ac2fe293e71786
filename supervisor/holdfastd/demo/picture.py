"""The picture of the README: `python -m holdfastd.demo.picture FILE.svg` gives the demonstration and draws its end."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from holdfastd.demo import screen
from holdfastd.demo.demonstration import Demonstration, DemoProgress, give

WIDTH = 78


def draw(path: Path, program: Demonstration) -> bool:
    """Whether the books balance; only then it is drawn."""
    shown: list[DemoProgress] = []
    ledger = give(program, shown.append)
    breaches = ledger.breaches(program.tasks)
    if breaches:
        return False
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print("[bold]$ supervisor demo[/bold]")
        console.print(screen.picture(shown[-1]))
        console.print(screen.books(ledger, breaches))
        console.save_svg(str(path), title="supervisor demo")
    return True


if __name__ == "__main__":
    sys.exit(not draw(Path(sys.argv[1]), Demonstration()))
