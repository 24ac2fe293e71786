"""Draws mutants from the areas in equal parts, tries them, and keeps what became of each, so that a run can go on.

In an area each operator is as likely as another, and each of its places. The same seed draws the same mutants from the
same tree. A mutant whose module cannot be imported does not count: the next one is drawn in its place.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from queue import SimpleQueue
from statistics import fmean, median
from tempfile import TemporaryDirectory
from threading import Event, Lock

from tests.mutation import lua_operators, python_operators
from tests.mutation.areas import AREAS, ROOT, area_of, product_files
from tests.mutation.equivalents import EQUIVALENTS
from tests.mutation.mutant import Mutant
from tests.mutation.readers import lines_of
from tests.mutation.record import Record, Test, text_hash
from tests.mutation.running import StoppedError, Trials, affordable
from tests.mutation.tree_copy import TreeCopy

NOTICED, SURVIVED, NO_TEST, EQUIVALENT, NONE = "noticed", "SURVIVED", "NO TEST", "equivalent", "no mutant"
WANTED, WANTED_OF_EACH = 0.95, 0.90  # shares that are noticed: of all, and in each area and of each operator


@dataclass(frozen=True, slots=True)
class Verdict:
    """`said`: what noticed the mutant, or why not. `tests`: a digest of the file of the mutant and of its tests: when
    they are the same, so is the verdict. `seconds`: that the trial took."""

    key: str
    area: str
    operator: str
    word: str
    said: str
    tests: str
    seconds: float = 0.0

    def line(self) -> str:
        return (
            f"{self.word:10} {self.area:12} {self.operator:17} {self.key}\n{'':10} {self.said} ({self.seconds:.0f} s)"
        )


class Sample:
    """`kept`: the file of verdicts; those of an earlier run with the same seed are taken from it. `room`: how many
    mutants of each area are still to be tried."""

    def __init__(self, size: int, seed: str, areas: Collection[str], record: Record, kept: Path) -> None:
        self._record = record
        self._path = kept
        self._kept = _read(kept)
        self._lock = Lock()
        self._stop = Event()
        self._drawn = {area: draw(area, seed) for area in areas}
        self._room = {area: size // len(areas) for area in areas}
        self._turns = cycle(areas)

    def run(self, jobs: int) -> Iterator[Verdict]:
        """Verdicts as they come."""
        told: SimpleQueue[Verdict | None] = SimpleQueue()
        with TemporaryDirectory(prefix="holdfast-") as folder, ThreadPoolExecutor(jobs) as pool:
            running = [pool.submit(self._try_all, TreeCopy(Path(folder) / str(job)), told) for job in range(jobs)]
            try:
                for _ in running:
                    yield from iter(told.get, None)
            finally:
                self._stop.set()
            for job in running:
                job.result()

    def _try_all(self, copy: TreeCopy, told: SimpleQueue[Verdict | None]) -> None:
        try:
            while not self._stop.is_set() and (mutant := self._next()):
                trials = Trials(copy, self._stop)
                verdict = self._kept_verdict(mutant) or self._keep(self._tried(trials, copy, mutant))
                if verdict.word == NONE:
                    self._give_back(area_of(mutant.file))
                else:
                    told.put(verdict)
        except StoppedError:
            return
        finally:
            told.put(None)

    def _next(self) -> Mutant | None:
        """Of the areas in turn."""
        with self._lock:
            for _ in self._drawn:
                area = next(self._turns)
                if self._room[area] > 0 and (mutant := next(self._drawn[area], None)):
                    self._room[area] -= 1
                    return mutant
            return None

    def _give_back(self, area: str) -> None:
        with self._lock:
            self._room[area] += 1

    def _kept_verdict(self, mutant: Mutant) -> Verdict | None:
        kept = self._kept.get(mutant.key)
        if mutant.key in EQUIVALENTS or kept is None or kept.word == EQUIVALENT:
            return None
        with self._lock:
            return kept if kept.tests == _digest(mutant, self._record.tests_of(lines_of(mutant))) else None

    def _tried(self, trials: Trials, copy: TreeCopy, mutant: Mutant) -> Verdict:
        with self._lock:
            found = self._record.tests_of(lines_of(mutant))
        tests = [test for test in found if (copy.folder / test.file).exists()]
        began, digest = time.monotonic(), _digest(mutant, tests, copy.folder)

        def verdict(word: str, said: str) -> Verdict:
            took = round(time.monotonic() - began, 1)
            return Verdict(mutant.key, area_of(mutant.file), mutant.operator, word, said, digest, took)

        if reason := EQUIVALENTS.get(mutant.key):
            return verdict(EQUIVALENT, reason)
        text = (ROOT / mutant.file).read_bytes()
        copy.write(mutant.file, mutant.change.made(text))
        try:
            if not trials.imports(mutant):
                return verdict(NONE, "cannot be imported")
            if not tests:
                return verdict(NO_TEST, "no test runs this line")
            if by := trials.noticed_by(mutant, affordable(tests)):
                return verdict(NOTICED, f"by {by}")
            return verdict(SURVIVED, f"{len(affordable(tests))} of the {len(tests)} tests that run this line")
        finally:
            copy.write(mutant.file, text)

    def _keep(self, verdict: Verdict) -> Verdict:
        with self._lock, self._path.open("a") as kept:
            kept.write(f"{json.dumps(asdict(verdict))}\n")
        return verdict


def draw(area: str, seed: str) -> Iterator[Mutant]:
    """The mutants of an area in the seed's order, each once."""
    chance = random.Random(f"{seed} {area}")
    by_operator = {operator: [*found] for operator, found in _mutants(area).items()}
    while by_operator:
        operator = chance.choice(sorted(by_operator))
        found = by_operator[operator]
        yield found.pop(chance.randrange(len(found)))
        if not found:
            del by_operator[operator]


@cache
def _mutants(area: str) -> Mapping[str, Sequence[Mutant]]:
    found: dict[str, list[Mutant]] = defaultdict(list)
    for file in product_files():
        if area_of(file) == area:
            for mutant in mutants_of(file):
                found[mutant.operator].append(mutant)
    return found


def mutants_of(file: str) -> list[Mutant]:
    text = (ROOT / file).read_bytes()
    return (lua_operators if file.endswith(".lua") else python_operators).mutants(file, text)


def _digest(mutant: Mutant, tests: Sequence[Test], folder: Path = ROOT) -> str:
    """Of the files in `folder`, which may be older than those of the tree: they change while a sample runs."""
    texts = [(folder / file).read_text() for file in sorted({mutant.file, *(test.file for test in tests)})]
    return text_hash(" ".join([*map(text_hash, texts), *sorted(test.id for test in tests)]))


def _read(path: Path) -> dict[str, Verdict]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {verdict.key: verdict for verdict in (Verdict(**json.loads(line)) for line in lines)}


def table(verdicts: Sequence[Verdict]) -> list[str]:
    """A line for each area and for each operator, then what does not hold of the shares that are wanted."""
    lines = [f"{'':18}{'mutants':>8}{NOTICED:>10}{'survived':>10}{'no test':>9}{EQUIVALENT:>12}{'share':>8}"]
    for names in ([*AREAS], [*python_operators.OPERATORS]):
        of_name = [(name, [each for each in verdicts if name in {each.area, each.operator}]) for name in names]
        lines += [_row(name, found) for name, found in of_name if found]
    lines.append(_row("all", verdicts))
    if tried := [verdict.seconds for verdict in verdicts if verdict.seconds]:
        lines.append(f"seconds of a trial: {median(tried):.0f} in the median, {fmean(tried):.0f} in the mean")
    return lines


def _row(name: str, verdicts: Sequence[Verdict]) -> str:
    words = Counter(verdict.word for verdict in verdicts)
    numbers = f"{words[NOTICED]:10}{words[SURVIVED]:10}{words[NO_TEST]:9}{words[EQUIVALENT]:12}"
    return f"{name:18}{len(verdicts):8}{numbers}{share(verdicts):8.0%}"


def share(verdicts: Sequence[Verdict]) -> float:
    """The share of mutants that a test noticed, among those that are not equivalent."""
    words = Counter(verdict.word for verdict in verdicts)
    return words[NOTICED] / max(len(verdicts) - words[EQUIVALENT], 1)


def too_few(verdicts: Sequence[Verdict]) -> list[str]:
    """The areas and operators of which too few are noticed, and `all`."""
    names = sorted({each.area for each in verdicts} | {each.operator for each in verdicts})
    lacking = [
        name
        for name in names
        if share([each for each in verdicts if name in {each.area, each.operator}]) < WANTED_OF_EACH
    ]
    return lacking + (["all"] if share(verdicts) < WANTED else [])
