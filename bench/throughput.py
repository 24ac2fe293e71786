"""How fast two workers empty a queue of 20,000 no-op tasks, beside a bare loop: `python -m bench.throughput`.

The two take turns, each time on a fresh server of the same kind and settings (unix socket, AOF off). Tasks a second are
those between the first and the last run of the handler; medians of three rounds. Ours keeps state and result of each
task and finds them complete at the end; the bare loop keeps the state.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from bench.drains import Measured, of_bare, of_embedded, of_ours
from bench.machine import quietly
from bench.report import Target, finish, percentile, table

ROUNDS = 3


def main() -> int:
    rounds: dict[str, list[Measured]] = {"bare BLPOP + HSET": [], "holdfast": [], "holdfast, embedded, AOF": []}
    for _ in range(ROUNDS):
        for measured, measure in zip(rounds.values(), (of_bare, of_ours, of_embedded), strict=True):
            one, others = quietly(measure)
            measured.append(replace(one, others=others))
    columns = ("2 workers", "tasks/s", "submit/s", "in batches", "p50 ms", "p99 ms", "others, cores")
    rows = [_row(name, measured) for name, measured in rounds.items()]
    table("20,000 no-op tasks; submit to handler on a quiet queue", columns, rows)
    bare, ours = (_drain(rounds[name]) for name in ("bare BLPOP + HSET", "holdfast"))
    return finish([Target("drain beside the bare loop", ours / bare, 1.0, at_least=True)], _numbers(rounds))


def _drain(measured: Iterable[Measured]) -> float:
    return median(one.drain for one in measured)


def _row(name: str, measured: Sequence[Measured]) -> tuple[object, ...]:
    waits = [wait for one in measured for wait in one.latencies]
    singly = median(one.singly for one in measured)
    in_batches = median(one.in_batches for one in measured)
    rates = (round(_drain(measured)), round(singly), round(in_batches))
    others = max(one.others for one in measured)
    return (name, *rates, percentile(waits, 0.5), percentile(waits, 0.99), others)


def _numbers(rounds: dict[str, list[Measured]]) -> dict[str, object]:
    return {
        name: {
            "drain": [round(one.drain, 1) for one in measured],
            "singly": [round(one.singly, 1) for one in measured],
            "in_batches": [round(one.in_batches, 1) for one in measured],
            "p50_ms": [round(percentile(one.latencies, 0.5), 4) for one in measured],
            "p99_ms": [round(percentile(one.latencies, 0.99), 4) for one in measured],
            "others": [round(one.others, 2) for one in measured],
        }
        for name, measured in rounds.items()
    }


if __name__ == "__main__":
    sys.exit(main())
