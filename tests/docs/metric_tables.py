"""The tables of all metrics: `python -m tests.docs.metric_tables docs/telemetry.md` renews them on that page."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.telemetry.metric_table import TABLE, Kind, Metric, Scope

HEADER = "| metric | kind | labels | meaning |\n|---|---|---|---|\n"


def renewed(page: str) -> str:
    """The page with the tables of the present metrics."""
    before, of_host, of_queue = page.split(HEADER)
    return before + _table(Scope.HOST) + _behind(of_host) + _table(Scope.QUEUE) + _behind(of_queue)


def _table(scope: Scope) -> str:
    return HEADER + "".join(_row(metric) for metric in TABLE if metric.scope is scope)


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    name = metric.name if metric.only_otlp else metric.prometheus_name
    kind = f"gauge ({metric.kind})" if metric.kind is Kind.UP_DOWN else metric.kind
    return f"| `{name}` | {kind} | {labels} | {metric.meaning} |\n"


def _behind(part: str) -> str:
    """The text behind a table."""
    return part[part.index("\n\n") + 1 :]


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text()))
