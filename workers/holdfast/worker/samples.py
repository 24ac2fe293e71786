"""Samples: the measurements of this worker's runs, kept here, and sent to the store once a second."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import anyio

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.histogram import bucket_of_ms, bucketed
from holdfast.core.rollup import BYTES, RUN, WAIT, Histogram, Series, field_of
from holdfast.worker.context import WorkerContext

EVERY = 1.0  # seconds: so much of what it has measured is lost with a worker that dies


class Measured:
    """The runs of one series with one outcome. `seconds`, `waited_ms`: one for each run; the sizes: sums in bytes."""

    __slots__ = ("operations", "results", "seconds", "waited_ms")

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.waited_ms: list[int] = []
        self.operations = 0
        self.results = 0


@dataclass(slots=True)
class Samples:
    context: WorkerContext
    _number: int = 0
    _measured: dict[tuple[str, str | None, Settle], Measured] = field(
        default_factory=dict[tuple[str, "str | None", Settle], Measured]
    )

    def add(self, delivery: Delivery, handler: str | None, report: Settlement, seconds: float) -> None:
        """Note a run that ended. Every task comes through here."""
        key = (delivery.lane, handler, report.kind)
        measured = self._measured.get(key)
        if measured is None:
            measured = self._measured[key] = Measured()
        measured.seconds.append(seconds)
        measured.waited_ms.append(delivery.waited_ms)
        measured.operations += len(delivery.operation)
        measured.results += len(report.result)

    async def serve(self) -> None:
        """Send what was measured, once a second; never returns."""
        while True:
            await anyio.sleep(EVERY)
            await self.send()

    async def send(self) -> None:
        if not self._measured:
            return
        fields, self._measured = _fields(self._measured), {}
        self._number += 1
        add = partial(self.context.store.add_samples, self.context.incarnation, self._number, fields)
        await self.context.retries.call("add_samples", add)


def _waits(waited_ms: list[int]) -> Counter[int]:
    """The buckets of these waits. They are few different numbers, so each is looked up once."""
    numbers = Counter(waited_ms)
    buckets: Counter[int] = Counter()
    for bucket, number in zip(map(bucket_of_ms, numbers), numbers.values(), strict=True):
        buckets[bucket] += number
    return buckets


def _fields(measured: dict[tuple[str, str | None, Settle], Measured]) -> dict[str, int | bytes]:
    fields: dict[str, int | bytes] = {}
    waits: dict[Series, Histogram] = {}
    for (lane, handler, outcome), runs in measured.items():
        series = Series(lane, handler or "")
        histogram = Histogram(round(1e6 * sum(runs.seconds)), bucketed(runs.seconds))
        fields[field_of(RUN + outcome, series)] = histogram.spelled()
        waits.setdefault(series, Histogram()).add(1000 * sum(runs.waited_ms), _waits(runs.waited_ms))
        for what, size in (("operation", runs.operations), ("result", runs.results)):
            name = field_of(BYTES + what, series)
            fields[name] = int(fields.get(name, 0)) + size
    return fields | {field_of(WAIT, series): histogram.spelled() for series, histogram in waits.items()}
