"""Plays as many seeds as one likes, memory against the bundled Valkey."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast_config.settings import MEMORY
from tests.conformance.fuzz.play import play
from tests.lua.namespace import namespace
from tests.servers import valkey


async def _play(url: str, seed: int, steps: int) -> Counter[str]:
    async with namespace(MEMORY) as memory, namespace(url) as server:
        return await play({"memory": memory, "valkey": server}, seed, steps)


def main() -> None:
    """Print one line a seed; the first difference ends it."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.fuzz", description=__doc__)
    parser.add_argument("--seeds", default="1-10", help="one, or first-last")
    parser.add_argument("--steps", type=int, default=1000)
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    with TemporaryDirectory(prefix="holdfast-") as folder, valkey(Path(folder)) as url:
        for seed in range(int(first), int(last or first) + 1):
            seen = anyio.run(_play, url, seed, given.steps)
            print(f"seed {seed}: {sum(seen.values())} answers, {seen['claims']} claims", flush=True)


main()
