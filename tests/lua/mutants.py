"""Break the scripts in one place at a time; the fuzz, or the directed test that is named, must notice every one.

`python -m tests.lua.mutants [PART OF A NAME]` says what noticed each. Rules 9 to 11 of the design live in Python.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
import uvloop

from holdfast.errors import StoreError
from holdfast.store.redis.scripts import text
from tests.lua import breakages_fast
from tests.lua.breakages import BREAKAGES
from tests.lua.fuzz import BreachError, play
from tests.lua.namespace import namespace
from tests.lua.twins import WHOLE, play_twins
from tests.servers import valkey

STEPS = 900
SEEDS = 8
FIRST = {  # the seed that notices soonest, of seeds to 60: it is played first, and the others if it no longer does
    "a canceled task stays at its gate": 2,
    "audit puts nothing back": 2,
    "the inbox of the dead is lost": 2,
    "trimmed and not counted": 2,
    "a retry twice makes two in a play": 3,
    "promoted and still due": 3,
    "a result goes with the first child": 4,
    "a child that was told is told again": 5,
    "a parent without anything else tells nobody": 5,
    "a result stays when its children are deleted": 5,
    "a settlement needs no claim": 5,
    "an end stays on the agenda": 5,
    "children are not told of an end": 5,
    "what is on its way goes back": 5,
    "purging deletes what runs": 6,
    "what was taken stays on the agenda": 6,
    "the dead keep their permits": 7,
    "a canceled task keeps its permit": 12,
    "a lower request is served": 13,
    "a pause is forgotten by a death": 14,
    "a failed parent fails nobody": 15,
    "the parents of a child stay when it is deleted": 19,
    "the first parent lets a child begin": 21,
    "a child has no results of parents that it waited for": 22,
    "a result goes with the record of the parent": 22,
    "a pause is forgotten by a release": 25,
    "a lost claim emits in a play": 35,
}
TWIN_SEEDS = 16
TWIN_FIRST = {  # as above, of the parts for usual calls
    "a concurrency key is usual": 2,
    "a known task is new": 2,
    "an old request is usual": 2,
    "turns are not noted": 2,
    "a task twice is new twice": 3,
    "any handler's tasks are usual": 3,
    "one settlement twice is usual": 3,
    "a pushed task forgets its name": 4,
    "others are told of lanes that are empty": 4,
    "a checkpoint is usual": 5,
    "what is tied to a task is usual": 5,
    "a pushed task is not counted": 6,
    "a delay is usual": 7,
    "any text is a number": 9,
    "what is due is usual": 10,
    "a short row tells no attempts": 12,
    "a short row tells no timeout": 12,
    "a cancel that came first is forgotten": 15,
    "any handler's pushed tasks are usual": 18,
    "an entry twice is usual": 19,
    "a paused lane is usual": 46,
}
TWIN_STEPS = 250
ENDLESS = 10.0  # seconds: of a test by a clock that is moved by hand; a broken script may have it do the same for ever
NOTICED = (
    AssertionError,
    ValueError,
    StoreError,
    pytest.fail.Exception,
)  # what a broken script makes of a test or a play


@dataclass(frozen=True, slots=True)
class Mutant:
    """`script`: the operation or shared part in which `old` stands exactly once. `test`: the directed test that notices
    (else the fuzz), with its arguments. `guarded`: the parts for usual calls answer, too."""

    name: str
    script: str
    old: str
    new: str
    test: Callable[..., Awaitable[None]] | None = None
    args: tuple[Any, ...] = ()
    guarded: bool = False

    @property
    def replaced(self) -> dict[str, str]:
        """The scripts that the loader takes in place of the product's."""
        source = text(self.script)
        if source.count(self.old) != 1:
            raise LookupError(f"{self.name}: {self.old!r} stands {source.count(self.old)} times in {self.script}")
        return {**({} if self.guarded else WHOLE), self.script: source.replace(self.old, self.new)}


MUTANTS = [Mutant(*breakage) for breakage in BREAKAGES]
USUAL = [Mutant(*breakage) for breakage in breakages_fast.BREAKAGES]


async def noticed(mutant: Mutant, url: str) -> str:
    """The check that noticed the mutant; empty where none did."""
    if mutant.test:
        return await _by_test(mutant, url, mutant.replaced)
    for seed in _seeds(FIRST.get(mutant.name, 1), SEEDS):
        try:
            await play(url, seed, STEPS, replaced=mutant.replaced)
        except (BreachError, *NOTICED) as breach:
            return f"seed {seed}: {breach}"
    return ""


async def differs(mutant: Mutant, url: str) -> str:
    """The check that noticed a broken part for usual calls: its test, or a difference between it and its operation;
    empty where none did."""
    if mutant.test:
        return await _by_test(mutant, url, {mutant.script: mutant.replaced[mutant.script]})
    for seed in _seeds(TWIN_FIRST.get(mutant.name, 1), TWIN_SEEDS):
        try:
            await play_twins(url, seed, TWIN_STEPS, {mutant.script: mutant.replaced[mutant.script]})
        except NOTICED as breach:
            return f"seed {seed}: {breach}"
    return ""


def _seeds(first: int, number: int) -> list[int]:
    return [first, *(seed for seed in range(1, number + 1) if seed != first)]


async def _by_test(mutant: Mutant, url: str, replaced: dict[str, str]) -> str:
    assert mutant.test
    try:
        async with namespace(url, replaced) as space:
            with anyio.fail_after(ENDLESS):
                await mutant.test(space, *mutant.args)
    except (*NOTICED, TimeoutError) as failure:  # of the test, or of what its history says at its end
        return f"{getattr(mutant.test, '__name__', '')}: {str(failure).splitlines()[:1]}"
    return ""


async def tell(url: str, wanted: str) -> int:
    survivors = 0
    played = [(mutant, noticed) for mutant in MUTANTS] + [(mutant, differs) for mutant in USUAL]
    for mutant, check in played:
        if wanted in mutant.name:
            by = await check(mutant, url)
            survivors += not by
            print(f"{mutant.name:55} {by[:150] or 'SURVIVED'}", flush=True)
    return survivors


def main() -> int:
    with TemporaryDirectory(prefix="holdfast-") as folder, valkey(Path(folder)) as url:
        return uvloop.run(tell(url, sys.argv[1] if len(sys.argv) > 1 else ""))


if __name__ == "__main__":
    sys.exit(main())
