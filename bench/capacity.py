"""The tables of docs/capacity.md: what some rates need, by the measured cost of each part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

RATES = (1_000, 10_000, 100_000)  # tasks a second
BUSY = 0.7  # of a core, at most, where answers are to be quick
GB = 1e9


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one task: processor time in µs, memory of the server in bytes."""

    worker: float
    server: float
    submit: float
    singly: float
    waiting: float

    @property
    def whole_server(self) -> float:
        """Submitted one by one, and run."""
        return self.server + self.singly

    @property
    def carries(self) -> float:
        """Tasks a second that one Redis carries, if they are submitted one by one."""
        return BUSY * 1e6 / self.whole_server

    @property
    def carries_in_bulk(self) -> float:
        return BUSY * 1e6 / (self.server + self.submit)


def costs(section: dict[str, Any]) -> Costs:
    """Those of the longest queue."""
    points = section["series"]["tasks queued"]
    longest = points[max(points, key=int)]
    return Costs(*(longest[key] for key in ("worker_us", "server_us", "submit_us", "singly_us", "waiting_bytes")))


def parts(section: dict[str, Any]) -> str:
    cost = costs(section)
    return "\n".join(
        [
            "| part | cost of a task |",
            "|---|---|",
            f"| Redis: to submit it in bulk | {cost.submit:.0f} µs |",
            f"| Redis: to submit it alone | {cost.singly:.0f} µs |",
            f"| Redis: to hand it to a worker and keep its result | {cost.server:.0f} µs |",
            f"| worker with a no-op handler, with its share of parent and steward | {cost.worker:.0f} µs |",
            f"| memory of Redis while the task waits | {cost.waiting:,.0f} bytes |",
            "",
            f"If its thread is busy for {BUSY:.0%} of the time, one Redis carries about "
            f"{cost.carries:,.0f} tasks/s that",
            f"are submitted one by one, or {cost.carries_in_bulk:,.0f} tasks/s that are submitted in bulk.",
        ]
    )


def rates(section: dict[str, Any]) -> str:
    cost = costs(section)
    lines = ["| tasks/s | Redis cores | namespaces, each on its own Redis | worker cores without the handlers' work |"]
    lines.append("|---|---|---|---|")
    for rate in RATES:
        needs = math.ceil(rate / cost.carries)
        lines.append(f"| {rate:,} | {rate * cost.whole_server / 1e6:.2g} | {needs} | {rate * cost.worker / 1e6:.2g} |")
    return "\n".join(lines)


def masters(section: dict[str, Any]) -> str:
    """The part of each master of the processor time of all."""
    points = section["series"]["namespaces on three masters"]
    lines = ["| namespaces | busiest master | second master | third master |", "|---|---|---|---|"]
    for count, figures in points.items():
        shares = (f"{figures[f'master_{number}']:.0%}" for number in (1, 2, 3))
        lines.append(f"| {count} | {' | '.join(shares)} |")
    return "\n".join(lines)
