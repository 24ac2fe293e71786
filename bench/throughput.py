"""How fast two workers empty a queue of 20,000 no-op tasks, beside a bare loop: `python -m bench.throughput`.

All take turns, each time on a fresh server of the same kind and settings (unix socket, AOF off). No-op coroutines are
what concurrency is for: the target is ours with 50 at once, the default is shown beside it. Tasks a second are those
between the first and the last run of the handler; medians of the three rounds in which others used the processors
least, out of at most six (what was measured in all of them is in the numbers). Ours keeps state and result of each
task and finds them complete at the end; the bare loop keeps the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median

from bench.drains import Measured, of_bare, of_embedded, of_ours
from bench.ending import run
from bench.machine import QUIET, quietly
from bench.report import Target, finish, percentile, table

ROUNDS = 3  # on a quiet machine, of each
TRIES = 6  # rounds at most, if others disturb

BARE, OURS, DEFAULT, EMBEDDED = (
    "bare BLPOP + HSET",
    "holdfast --concurrency 50",
    "holdfast, 10 (the default)",
    "holdfast, 10, embedded, AOF",
)
MEASURES: dict[str, Callable[[], Measured]] = {
    BARE: of_bare,
    OURS: lambda: of_ours("--concurrency", "50"),
    DEFAULT: of_ours,
    EMBEDDED: of_embedded,
}


def main() -> int:
    tried = _measure()
    chosen = {name: sorted(measured, key=lambda sample: sample.others)[:ROUNDS] for name, measured in tried.items()}
    columns = ("2 workers", "tasks/s", "submit/s", "in batches", "p50 ms", "p99 ms", "others, cores")
    rows = [_row(name, measured) for name, measured in chosen.items()]
    table("20,000 no-op tasks; submit to handler on a quiet queue", columns, rows)
    for name, measured in chosen.items():
        if noisy := sum(not _is_quiet(sample) for sample in measured):
            print(f"DOUBTFUL {name}: others used the processors in {noisy} of {len(measured)} rounds")
    print(
        f"drain at the default concurrency beside the bare loop: {_drain(chosen[DEFAULT]) / _drain(chosen[BARE]):.2f}"
    )
    ratio = _drain(chosen[OURS]) / _drain(chosen[BARE])
    return finish([Target("drain beside the bare loop", ratio, 1.0, at_least=True)], _numbers(tried))


def _measure() -> dict[str, list[Measured]]:
    """In turn, until each has been measured often enough on a quiet machine, or has been tried often enough."""
    tried: dict[str, list[Measured]] = {name: [] for name in MEASURES}
    for _ in range(TRIES):
        for name, measure in MEASURES.items():
            if sum(map(_is_quiet, tried[name])) < ROUNDS:
                sample, others = quietly(measure)
                tried[name].append(replace(sample, others=others))
    return tried


def _is_quiet(measured: Measured) -> bool:
    return measured.others < QUIET


def _drain(measured: Iterable[Measured]) -> float:
    return median(sample.drain for sample in measured)


def _row(name: str, measured: Sequence[Measured]) -> tuple[object, ...]:
    waits = [wait for sample in measured for wait in sample.latencies]
    singly = median(sample.singly for sample in measured)
    in_batches = median(sample.in_batches for sample in measured)
    rates = (round(_drain(measured)), round(singly), round(in_batches))
    others = max(sample.others for sample in measured)
    return (name, *rates, percentile(waits, 0.5), percentile(waits, 0.99), others)


def _numbers(rounds: dict[str, list[Measured]]) -> dict[str, object]:
    return {
        name: {
            "drain": [round(sample.drain, 1) for sample in measured],
            "singly": [round(sample.singly, 1) for sample in measured],
            "in_batches": [round(sample.in_batches, 1) for sample in measured],
            "p50_ms": [round(percentile(sample.latencies, 0.5), 4) for sample in measured],
            "p99_ms": [round(percentile(sample.latencies, 0.99), 4) for sample in measured],
            "others": [round(sample.others, 2) for sample in measured],
        }
        for name, measured in rounds.items()
    }


if __name__ == "__main__":
    run(main)
