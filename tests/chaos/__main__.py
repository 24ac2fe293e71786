"""`python -m tests.chaos --seconds 60 --seed 1`: its last line is the ledger, its exit status 1 on any breach."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import anyio

from tests.chaos import ledger, report
from tests.chaos.nemesis import FAULTS
from tests.chaos.play import Plan, play_once


async def main(plans: list[Plan], folder: Path | None) -> bool:
    outcomes = []
    for plan in plans:
        outcome = await play_once(plan)
        outcomes.append(outcome)
        print(ledger.line(outcome), flush=True)
        for breach in outcome.breaches[:20]:
            print(f"  {breach}", flush=True)
        if folder is not None:
            report.write(folder, outcome)
    print(ledger.total(outcomes))
    return not any(outcome.breaches for outcome in outcomes)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Play faults, and check the histories.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long clients and nemesis play, for each seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="so many plays, with the seeds from --seed on")
    parser.add_argument("--workers", type=int, default=4, help="on each of two hosts")
    parser.add_argument("--rate", type=float, default=25.0, help="tasks a second")
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), default=list(FAULTS), metavar="NAME")
    parser.add_argument(
        "--report", type=Path, metavar="FOLDER", help="where to write a page and a JSON file for each play"
    )
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    plans = [
        Plan(given.seconds, seed, given.workers, given.rate, faults=tuple(given.faults))
        for seed in range(given.seed, given.seed + given.seeds)
    ]
    sys.exit(not anyio.run(partial(main, plans, given.report)))
