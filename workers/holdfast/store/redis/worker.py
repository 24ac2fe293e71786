"""The Redis calls of a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.core.delivery import (
    EmittedBatch,
    EmitVerdict,
    Hint,
    Holding,
    Pulled,
    Renewed,
    Settle,
    Settlement,
    Standing,
)
from holdfast.core.steps import SleepKept, StepKept, StepVerdict
from holdfast.core.worker_records import Admission, Introduction, ServedWork
from holdfast.store.redis import decode
from holdfast.store.redis.connection import Value
from holdfast.store.redis.decode import pairs
from holdfast.store.redis.part import RedisPart

if TYPE_CHECKING:
    from holdfast.store.protocol import SendPull
    from holdfast.store.redis.fast_client import Send

_pack = msgspec.msgpack.Encoder().encode
_json = msgspec.json.Encoder().encode
_NO_SETTLEMENTS = _pack([])


def _flat(s: Settlement) -> tuple[str | int, ...]:
    """A settlement as arguments of `pull`. Results and checkpoints are JSON, sent as text that the server's MessagePack
    can read."""
    plain = s.task_id, s.claim, s.result.decode()
    if s.kind is Settle.COMPLETED and not (s.delay_ms or s.reason or s.checkpoint):
        return plain
    return *plain, s.kind, s.delay_ms, s.reason, s.checkpoint.decode() if s.checkpoint else ""


def _declared(service: ServedWork | None) -> tuple[str, bytes]:
    if service is None:
        return "", b""
    return service.application, _pack(sorted(service.schedules))


class RedisWorker(RedisPart):
    async def register(self, worker: Introduction) -> Standing:
        lanes, names, limits = self._served(worker.service)
        place = (worker.host, worker.boot, worker.pid, worker.slot)
        halt = "" if worker.halt is None else worker.halt
        declared = _declared(worker.service)
        concurrency = worker.concurrency or ""
        word = await self._word(
            "register",
            worker.incarnation,
            *place,
            lanes,
            names,
            worker.kind,
            limits,
            halt,
            *declared,
            concurrency,
            worker.answered,
        )
        return Standing(word)

    async def reconnected(self, incarnation: str) -> None:
        await self._run("reconnected", incarnation)

    def _served(self, service: ServedWork | None) -> tuple[bytes, bytes, bytes]:
        if service is None:
            return b"", b"", b""
        lanes = [(self._keys.name(lane.name), lane.weight, lane.timeout) for lane in service.lanes]
        names = b"" if service.names is None else _pack(sorted(service.names))
        return _json(lanes), names, b"" if service.limits is None else _json(service.limits)

    async def pull(
        self,
        incarnation: str,
        request: int,
        slots: int,
        lanes: Sequence[str],
        settlements: Sequence[Settlement],
        weights: Sequence[int] = (),
        ahead: int = 0,
    ) -> Pulled:
        packed = _pack([_flat(settlement) for settlement in settlements])
        shares = " ".join(map(str, weights))
        names = map(self._keys.name, lanes)
        return decode.pulled(await self._run("pull", incarnation, request, slots, packed, shares, ahead, *names))

    async def listen_and_pull(
        self,
        incarnation: str,
        lanes: Sequence[str],
        timeout: float,
        weights: Sequence[int],
        offer: Callable[[SendPull | None], None],
    ) -> tuple[Hint | None, Pulled | None]:
        connection, names = self._connection, [self._keys.name(lane) for lane in lanes]
        if not connection.sends_behind_waits:
            return await self.listen(incarnation, lanes, timeout), None
        shares = " ".join(map(str, weights))

        def offer_pull(send: Send | None) -> None:
            def pull(request: int, slots: int) -> bool:
                rest: tuple[Value, ...] = (_NO_SETTLEMENTS, shares, 0, *names)
                return send is not None and send(*connection.operation("pull", incarnation, request, slots, *rest))

            offer(None if send is None else pull)

        control = self._keys.control(incarnation)
        popped, answer = await connection.wait(timeout, offer_pull, *self._wait(control, lanes, timeout))
        return _hint(control, popped), None if answer is None else decode.pulled(answer)

    async def add_samples(self, incarnation: str, number: int, samples: Mapping[str, int | bytes]) -> None:
        flat = [value for item in samples.items() for value in item]
        await self._word("add_samples", incarnation, number, *flat)

    async def earlier(self, task_id: str, before: int) -> tuple[tuple[bytes, ...], int]:
        items, first = await self._run("earlier", task_id, before)
        return tuple(items), first

    async def step(self, task_id: str, claim: str, place: int, name: str, result: bytes) -> StepKept:
        word, other = await self._run("step", task_id, claim, place, name, result)
        return StepKept(StepVerdict(word.decode()), other.decode())

    async def sleep(self, task_id: str, claim: str, place: int, name: str, milliseconds: int) -> SleepKept:
        word, other, due, left = await self._run("sleep", task_id, claim, place, name, milliseconds)
        return SleepKept(StepVerdict(word.decode()), other.decode(), due, left)

    async def emit(self, batches: Sequence[EmittedBatch]) -> list[EmitVerdict]:
        flat = [value for b in batches for value in (b.task_id, b.claim, b.run, b.number, b.count, b.values)]
        return [EmitVerdict(word.decode()) for word in await self._run("emit", *flat)]

    async def inbox(self, incarnation: str) -> tuple[str, bytes] | None:
        head = await self._command("LINDEX", self._keys.inbox(incarnation), 0)
        if head is None:
            return None
        lane, raw = head.split(b"\n", 1)
        return lane.decode(), raw

    async def admit(self, incarnation: str, admission: Admission) -> str:
        return await self._word(
            "admit",
            incarnation,
            admission.digest,
            admission.operation,
            admission.task_id,
            admission.message_id,
            admission.reason,
            admission.name,
        )

    async def renew(
        self, incarnation: str, state: str, answered: int, holdings: Sequence[Holding], lanes: Sequence[str] = ()
    ) -> Renewed:
        args: list[Value] = [incarnation, state, answered, len(lanes), *map(self._keys.name, lanes)]
        for held in holdings:
            args += (held.task_id, held.claim, held.progress, held.checkpoint or b"")
        standing, lost, returned, vouched, waiting, quiet, to_pause, request = await self._run("renew", *args)
        return Renewed(
            standing=Standing(standing.decode()),
            lost=tuple((task_id, claim.decode()) for task_id, claim in pairs(lost)),
            returned=returned,
            vouched_ago_ms=None if vouched < 0 else vouched,
            waiting=waiting,
            quiet=quiet == 1,
            to_pause=tuple((task_id, claim.decode()) for task_id, claim in pairs(to_pause)),
            request=request,
        )

    async def listen(self, incarnation: str, lanes: Sequence[str], timeout: float) -> Hint | None:
        control = self._keys.control(incarnation)
        return _hint(control, await self._block(timeout, *self._wait(control, lanes, timeout)))

    def _wait(self, control: str, lanes: Sequence[str], timeout: float) -> tuple[Value, ...]:
        return "BLPOP", control, *(self._keys.bell(lane) for lane in lanes), timeout

    async def wake(self, incarnation: str) -> None:
        await self._number("wake", incarnation)


def _hint(control: str, popped: tuple[bytes, bytes] | None) -> Hint | None:
    """`control`: the list of this worker's own hints; the others are bells."""
    if popped is None:
        return None
    key, word = popped
    if key.decode() != control:
        return Hint("bell")
    kind, _, rest = word.decode().partition(":")
    task_id, _, claim = rest.partition(":")
    return Hint(kind, task_id, claim)
