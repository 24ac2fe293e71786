"""Samples of runs: of those with a sampled span the slowest is an example."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.rollup import Rollup, Series, rollup_of
from holdfast.telemetry.port import Span
from holdfast.worker.samples import Samples
from tests.handler.deliveries import delivery_of

pytestmark = pytest.mark.anyio


@dataclass
class Store:
    """Keeps what is sent."""

    sent: Rollup

    async def add_samples(self, _worker: str, _number: int, fields: dict[str, int | bytes]) -> None:
        spelled = [(name, value if isinstance(value, bytes) else b"%d" % value) for name, value in fields.items()]
        self.sent = rollup_of((name.encode(), value) for name, value in spelled)


async def call(_: str, work: Any) -> object:
    return await work()


def span(letter: str, flags: str = "01") -> Span:
    return cast("Span", SimpleNamespace(traceparent=f"00-{letter * 32}-{letter * 16}-{flags}"))


async def sent(*runs: tuple[float, Span | None]) -> Any:
    store = Store({})
    context: Any = SimpleNamespace(store=store, incarnation="i", retries=SimpleNamespace(call=call))
    samples, report = Samples(context), Settlement("t-1", "1:i:1", Settle.COMPLETED, b"")
    for seconds, its_span in runs:
        samples.add(delivery_of(waited_ms=7), "mail", report, seconds, its_span)
    await samples.send()
    return store.sent[Series("q", "mail")]


async def test_the_slowest_run_is_the_example() -> None:
    figures = await sent((0.5, span("a")), (2.0, span("b")), (1.0, span("c")), (9.0, None))
    example = figures.examples["completed"]
    assert (example.micros, example.waited_ms, example.trace_id, example.span_id) == (2_000_000, 7, "b" * 32, "b" * 16)
    assert figures.run.count == 4


@pytest.mark.parametrize("unsampled", [span("a", "00"), cast("Span", SimpleNamespace(traceparent=""))])
async def test_a_run_without_a_sampled_span_is_none(unsampled: Span) -> None:
    assert not (await sent((1.0, unsampled))).examples
    assert not (await sent((1.0, None))).examples


async def test_runs_are_told_apart_by_lane_handler_and_outcome() -> None:
    store = Store({})
    context: Any = SimpleNamespace(store=store, incarnation="i", retries=SimpleNamespace(call=call))
    samples, order = Samples(context), [("a", "mail"), ("b", "mail"), ("a", None), ("a", "mail")]
    for kind in (Settle.COMPLETED, Settle.FAILED, Settle.COMPLETED):
        for lane, handler in order:
            samples.add(delivery_of(lane=lane), handler, Settlement("t-1", "1:i:1", kind, b""), 1.0)
    await samples.send()
    counted = {tuple(series): {k: run.count for k, run in each.runs.items()} for series, each in store.sent.items()}
    once, twice = {"completed": 2, "failed": 1}, {"completed": 4, "failed": 2}
    assert counted == {("a", "mail"): twice, ("b", "mail"): once, ("a", ""): once}
    await samples.send()
    samples.add(delivery_of(lane="a"), "mail", Settlement("t-1", "1:i:1", Settle.FAILED, b""), 1.0)
    await samples.send()
    assert {series.lane: each.run.count for series, each in store.sent.items()} == {"a": 1}
