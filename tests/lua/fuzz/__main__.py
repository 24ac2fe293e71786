"""`python -m tests.lua.fuzz SEED[-SEED] STEPS [rollback] [plain | plain3]`: play on an own server.

Prints statistics, or the breach. `plain3`: usual calls in three lanes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from tests.lua.fuzz import play
from tests.servers import valkey


async def seeds(url: str, first: int, last: int, steps: int, *, rollback: bool, plain: int) -> None:
    for seed in range(first, last + 1):
        seen = await play(url, seed, steps, rollback=rollback, plain=plain)
        print(f"seed {seed} holds:", " ".join(f"{name}={count}" for name, count in sorted(seen.items())), flush=True)


def main() -> None:
    first, _, last = sys.argv[1].partition("-")
    with TemporaryDirectory(prefix="holdfast-") as folder, valkey(Path(folder)) as url:
        uvloop.run(
            seeds(
                url,
                int(first),
                int(last or first),
                int(sys.argv[2]),
                rollback="rollback" in sys.argv[3:],
                plain=3 if "plain3" in sys.argv[3:] else int("plain" in sys.argv[3:]),
            )
        )


main()
