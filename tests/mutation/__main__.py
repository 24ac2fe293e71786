"""How many small faults of the product its tests notice.

`python -m tests.mutation --sample 300 --seed 7` tries 300 mutants that the seed draws, in equal parts from all areas.
It first records which tests run which lines, where that is not known yet: at first all tests, for most of an hour.
It ends with 1 if too few are noticed. A run that was stopped goes on with what it had.
`python -m tests.mutation record tests/web tests/operations` records these tests only.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from tests.mutation.areas import AREAS
from tests.mutation.record import KEPT, Record
from tests.mutation.recording import record_missing
from tests.mutation.sampler import NO_TEST, SURVIVED, Sample, Verdict, table, too_few


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["record"]:
        return _told_unrecorded(record_missing(arguments[1:]))
    options = _options(arguments)
    if not options.recorded:
        _told_unrecorded(record_missing())
    kept = KEPT / f"seed-{options.seed}.jsonl"
    sample = Sample(options.sample, options.seed, options.areas or [*AREAS], Record(), kept)
    verdicts = list[Verdict]()
    try:
        for verdict in sample.run(options.jobs):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    except KeyboardInterrupt:
        _summary(verdicts)
        print("\nstopped: the same command goes on")
        return 128 + signal.SIGINT
    return _summary(verdicts)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", default="1", help="the same seed draws the same mutants from the same tree")
    parser.add_argument("--areas", type=_areas, help=f"of {', '.join(AREAS)}: with commas between them; default: all")
    parser.add_argument("--jobs", type=int, default=2, help="how many mutants at a time")
    parser.add_argument("--recorded", action="store_true", help="record nothing, use what is recorded")
    return parser.parse_args(arguments)


def _areas(value: str) -> list[str]:
    areas = [area.strip() for area in value.split(",") if area.strip()]
    if unknown := [area for area in areas if area not in AREAS]:
        raise argparse.ArgumentTypeError(f"no such area: {', '.join(unknown)}; there are {', '.join(AREAS)}")
    return areas


def _told_unrecorded(files: Sequence[str]) -> int:
    for file in files:
        print(f"not recorded, so its tests notice nothing here: {file}", file=sys.stderr)
    return 1 if files else 0


def _summary(verdicts: Sequence[Verdict]) -> int:
    for word, title in ((SURVIVED, "survived"), (NO_TEST, "no test runs these lines; they count as survived")):
        if found := [verdict for verdict in verdicts if verdict.word == word]:
            print(f"\n{title}:", *(f"  {verdict.key}" for verdict in found), sep="\n")
    print("", *table(verdicts), sep="\n")
    if lacking := too_few(verdicts):
        print(f"\ntoo few are noticed: {', '.join(lacking)}")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
