"""Samples: the measurements of this worker's runs, kept here, and sent to the store once a second."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import anyio

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.rollup import BYTES, EXAMPLE, RUN, WAIT, Example, Histogram, Series, bucket_of_ms, bucketed, field_of
from holdfast.telemetry.port import Span
from holdfast.worker.context import WorkerContext

SAMPLED = 1  # this bit in the flags of a trace
EVERY = 1.0  # seconds between two sends: a worker that dies loses the measurements of so long


class Slowest(NamedTuple):
    """The slowest run so far. `seconds`: its time; `waited_ms`: its wait before; `at_ms`: its end, in Unix
    milliseconds; `span`: its span."""

    seconds: float
    waited_ms: int
    at_ms: int
    span: Span


@dataclass(slots=True)
class Measured:
    """The runs of one pair of lane and handler that had the same outcome. `seconds`, `waited_ms`: one value for each
    run. The sizes are sums in bytes. `slowest`: the slowest run with a span."""

    lane: str
    outcome: Settle
    slowest: Slowest | None = None
    seconds: list[float] = field(default_factory=list[float])
    waited_ms: list[int] = field(default_factory=list[int])
    operations: int = 0
    results: int = 0


@dataclass(slots=True)
class Samples:
    """The measurements of one worker that are not sent yet. `_latest`: for each handler, the entry of its last run.
    Most runs of a handler have the same lane and outcome as the run before, and comparing these is faster than building
    a key."""

    context: WorkerContext
    _number: int = 0
    _measured: dict[tuple[str, str | None, Settle], Measured] = field(
        default_factory=dict[tuple[str, "str | None", Settle], Measured]
    )
    _latest: dict[str | None, Measured] = field(default_factory=dict["str | None", Measured])

    def add(
        self, delivery: Delivery, handler: str | None, report: Settlement, seconds: float, span: Span | None = None
    ) -> None:
        """Record a run that has ended, with its span if there is one. The worker calls this for every task."""
        measured = self._latest.get(handler)
        if measured is None or measured.lane != delivery.lane or measured.outcome is not report.kind:
            measured = self._latest[handler] = self._of(delivery.lane, handler, report.kind)
        measured.seconds.append(seconds)
        measured.waited_ms.append(delivery.waited_ms)
        measured.operations += len(delivery.operation)
        measured.results += len(report.result)
        if span is not None and (measured.slowest is None or measured.slowest.seconds < seconds):
            measured.slowest = Slowest(seconds, delivery.waited_ms, time.time_ns() // 1_000_000, span)

    def _of(self, lane: str, handler: str | None, outcome: Settle) -> Measured:
        key = (lane, handler, outcome)
        measured = self._measured.get(key)
        if measured is None:
            measured = self._measured[key] = Measured(lane, outcome)
        return measured

    async def serve(self) -> None:
        """Send the measurements once a second; never returns."""
        while True:
            await anyio.sleep(EVERY)
            await self.send()

    async def send(self) -> None:
        """Send the measurements now."""
        if not self._measured:
            return
        fields, self._measured, self._latest = _fields(self._measured), {}, {}
        self._number += 1
        add = partial(self.context.store.add_samples, self.context.incarnation, self._number, fields)
        await self.context.retries.call("add_samples", add)


def _waits(waited_ms: list[int]) -> Counter[int]:
    """The buckets of these waits. Few of the numbers differ, so each number is converted once."""
    numbers = Counter(waited_ms)
    buckets: Counter[int] = Counter()
    for bucket, number in zip(map(bucket_of_ms, numbers), numbers.values(), strict=True):
        buckets[bucket] += number
    return buckets


def _example(slowest: Slowest) -> Example | None:
    """The run as an example; None if its trace is not sampled."""
    _, trace_id, span_id, flags = (*slowest.span.traceparent.split("-"), "", "", "")[:4]
    if not flags or not int(flags, 16) & SAMPLED:
        return None
    return Example(round(1e6 * slowest.seconds), slowest.waited_ms, slowest.at_ms, trace_id, span_id)


def _fields(measured: dict[tuple[str, str | None, Settle], Measured]) -> dict[str, int | bytes]:
    fields: dict[str, int | bytes] = {}
    waits: dict[Series, Histogram] = {}
    for (lane, handler, outcome), runs in measured.items():
        series = Series(lane, handler or "")
        histogram = Histogram(round(1e6 * sum(runs.seconds)), bucketed(runs.seconds))
        fields[field_of(RUN + outcome, series)] = histogram.spelled()
        if runs.slowest is not None and (example := _example(runs.slowest)):
            fields[field_of(EXAMPLE + outcome, series)] = example.spelled()
        waits.setdefault(series, Histogram()).add(1000 * sum(runs.waited_ms), _waits(runs.waited_ms))
        for what, size in (("operation", runs.operations), ("result", runs.results)):
            name = field_of(BYTES + what, series)
            fields[name] = int(fields.get(name, 0)) + size
    return fields | {field_of(WAIT, series): histogram.spelled() for series, histogram in waits.items()}
