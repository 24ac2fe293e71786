"""Surroundings of a steward's duties: a store that does what the test says, a family, a parent that is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from holdfast.core.counts import Counts, Epoch
from holdfast.core.store_info import LaneHead, Tended
from holdfast.core.task_states import State
from holdfast.core.worker_records import HostFacts, WorkerRecord
from holdfast.errors import StoreUnavailableError
from holdfast.ipc.channel import Acknowledged
from holdfastd.steward.duties.orphans import Orphans
from holdfastd.steward.duties.worker_recovery import WorkerRecovery
from holdfastd.steward.duty import Duty, Health, run_duty
from holdfastd.steward.roster import LockFiles, WorkerRoster

A, B, C = ("a" * 32, "b" * 32, "c" * 32)
AWAY = StoreUnavailableError("the store is away")


@dataclass
class FakeStore:
    """Answers from `answers`, by method, in order: a value or an error. Calls are kept in `calls`."""

    answers: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    calls: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def _answer(self, name: str, usual: Any, *args: Any) -> Any:
        self.calls.append((name, *args))
        answer = self.answers[name].pop(0) if self.answers.get(name) else usual
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def preflight(self) -> None:
        self._answer("preflight", None)

    async def vouch(self, incarnations: Sequence[str], host: HostFacts | None = None) -> None:
        self._answer("vouch", None, *incarnations)

    async def recover(self, incarnation: str, cause: str, charged: bool, **how: Any) -> int:
        await anyio.lowlevel.checkpoint()
        return self._answer("recover", 1, incarnation, cause, charged)

    async def incarnations(self, names: Collection[str]) -> dict[str, WorkerRecord]:
        return {}  # asked after each recovery, for dead letters to tell of

    async def last_request(self, incarnation: str) -> int:
        return self._answer("last_request", 0, incarnation)

    async def take_back(self, incarnation: str, last_request: int, begun: Mapping[str, str]) -> int:
        return self._answer("take_back", 1, incarnation, last_request, dict(begun))

    async def reap(self, lease_ms: int, grace_ms: int, max_crashes: int = 3) -> dict[str, int]:
        return self._answer("reap", {}, lease_ms, grace_ms)

    async def promote(self, limit: int) -> tuple[int, int | None]:
        return self._answer("promote", (0, None), limit)

    async def left(self, lanes: Sequence[str]) -> tuple[bool, int | None, int]:
        return self._answer("left", (False, None, 0), *lanes)

    async def unserved(self, timeout_ms: int, limit: int) -> int:
        return self._answer("unserved", 0, timeout_ms, limit)

    async def counts(self) -> Counts:
        zeros = dict.fromkeys(State, 0)
        return self._answer("counts", Counts(zeros, {}, 0, 0, 0, 0, None, {str(state): 0 for state in State}))

    async def peek(self, lane: str, timeout: float) -> bytes | None:
        return self._answer("peek", None, lane)

    async def look_at_front(self, lane: str, earlier: LaneHead) -> LaneHead:
        return LaneHead()  # asked beside each peek, and not counted

    async def ring(self, *lanes: str) -> tuple[int, int]:
        return self._answer("ring", (0, 0), *lanes)

    async def tend(self, lanes: Sequence[str]) -> Tended:
        return self._answer("tend", Tended(len(lanes), 0, 0), *lanes)

    async def audit(self, lane: str, limit: int, cursor: str) -> tuple[int, str]:
        return self._answer("audit", (0, ""), lane, cursor)

    async def trim(self, keep_ms: int, limit: int) -> int:
        return self._answer("trim", 0, keep_ms, limit)

    async def wait_alarm(self, timeout: float) -> bool:
        return self._answer("wait_alarm", False, timeout)

    async def run_id(self) -> str:
        return self._answer("run_id", "one")

    async def epoch(self, known: Epoch, fresh: str) -> Epoch:
        return self._answer("epoch", Epoch("one", 0), known)

    async def latest(self, seen: str) -> tuple[str, int | None]:
        return self._answer("latest", ("", None), seen)

    async def clock_ms(self) -> int:
        return self._answer("clock_ms", 0)


@dataclass
class DutySurroundings:
    """All that a duty of a steward needs, with a fake store; what it acknowledges and counts is kept."""

    folder: Path
    store: FakeStore = field(default_factory=FakeStore)
    roster: WorkerRoster = field(default_factory=WorkerRoster)
    health: Health = field(default_factory=Health)
    acknowledged: list[Acknowledged] = field(default_factory=list[Acknowledged])
    counted: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def count(self, incarnation: str, tasks: int, cause: str) -> None:
        self.counted.append((tasks, cause))

    def recovery(self) -> WorkerRecovery:
        return WorkerRecovery(self.store, self.roster, LockFiles(self.folder), self.acknowledged.append, self.count)

    def orphans(self, *foreign: str) -> Orphans:
        return Orphans(self.store, self.roster, LockFiles(self.folder), self.count, foreign)

    def lock_file(self, incarnation: str) -> Path:
        path = self.folder / f"{incarnation}.lock"
        path.touch()
        return path

    def called(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.store.calls if call[0] == name]


async def run_until(duty: Duty, health: Health, done: Callable[[], bool]) -> None:
    """Tend the duty until something is the case."""

    async def wait(seconds: float) -> None:
        await (anyio.lowlevel.checkpoint() if not done() else anyio.sleep_forever())

    async with anyio.create_task_group() as group:
        group.start_soon(run_duty, Duty(duty.name, duty.run_once, wait), health)
        with anyio.fail_after(20):
            while not done():
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
