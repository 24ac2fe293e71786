"""A play for reading: JSON, and a page with a timeline of faults, starts and ends."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.chaos import causes, ledger
from tests.chaos.measure import quantile
from tests.chaos.play import Outcome

WIDTH, ROW, LEFT, HEIGHT = 1000, 16, 160, 50


def write(folder: Path, outcome: Outcome) -> None:
    """`play-<seed>.json` and `play-<seed>.html` in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"play-{outcome.plan.seed}"
    (folder / f"{name}.json").write_text(json.dumps(document(outcome), indent=1) + "\n")
    (folder / f"{name}.html").write_text(page(outcome))


def document(outcome: Outcome) -> dict[str, Any]:
    """All that is worth keeping of a play."""
    plan = outcome.plan
    return {
        "seed": plan.seed,
        "seconds": plan.seconds,
        "workers": 2 * plan.workers + plan.ahead,
        "rate": plan.rate,
        "figures": ledger.figures(outcome),
        "faults": dict(outcome.struck),
        "starts again, by what freed the task": dict(sorted(causes.extra_starts(outcome.evidence.events).items())),
        "bytes left": outcome.bytes_left,
        "recovery seconds": {
            name: {
                "times": len(times),
                "p50": round(quantile(times, 0.5), 4),
                "p99": round(quantile(times, 0.99), 4),
                "each": [round(seconds, 4) for seconds in times],
            }
            for name, times in sorted(outcome.recoveries.items())
        },
        "breaches": outcome.breaches,
        "histories of the broken": histories(outcome),
    }


def histories(outcome: Outcome) -> dict[str, Any]:
    """Of each task that a breach names, all that was seen, in the order of time; and what struck whom when."""
    evidence = outcome.evidence
    named = {word for breach in outcome.breaches for word in re.findall(r"\bt\d+\b", breach)}
    seen: list[dict[str, Any]] = [{"wall": int(event["at"]) / 1000, **event} for event in evidence.events]
    seen += [*evidence.runs, *evidence.clients]
    by_task = {task_id: sorted((e for e in seen if e["id"] == task_id), key=_wall) for task_id in sorted(named)}
    return {**by_task, "faults": evidence.faults} if named else {}


def _wall(line: dict[str, Any]) -> float:
    return float(line["wall"])


def page(outcome: Outcome) -> str:
    """Readable without anything else."""
    figures = document(outcome)
    rows = "".join(
        f"<tr><td>{html.escape(str(key))}<td>{html.escape(str(value))}" for key, value in figures["figures"].items()
    )
    recovery = "".join(
        f"<tr><td>{html.escape(name)}<td>{each['times']}<td>{each['p50'] * 1000:.0f} ms<td>{each['p99'] * 1000:.0f} ms"
        for name, each in figures["recovery seconds"].items()
    )
    broken = "".join(f"<li>{html.escape(breach)}" for breach in outcome.breaches) or "<li>none"
    return (
        f"<!doctype html><meta charset=utf-8><title>Chaos, seed {outcome.plan.seed}</title>"
        "<style>body{font:14px sans-serif;margin:2em}td{padding:0 1em 0 0}svg text{font:11px sans-serif}</style>"
        f"<h1>Chaos, seed {outcome.plan.seed}</h1><table>{rows}</table><h2>Breaches</h2><ul>{broken}</ul>"
        f"<h2>Timeline</h2>{timeline(outcome)}<h2>Recovery</h2><table><tr><th>fault<th>tasks<th>p50<th>p99{recovery}</table>"
    )


def timeline(outcome: Outcome) -> str:
    """A row a fault with what it struck, and below how many handlers started in each second."""
    lines = [*outcome.evidence.runs, *outcome.evidence.faults]
    began = min((line["at"] for line in lines), default=0.0)
    scale = (WIDTH - LEFT) / max(1.0, max((line["at"] for line in lines), default=1.0) - began)
    names = sorted(outcome.struck)
    base = ROW * (len(names) + 1) + HEIGHT + 10
    drawn = [row for place, name in enumerate(names, 1) for row in _row(outcome, name, ROW * place, began, scale)]
    drawn += _starts(outcome, base, began, scale)
    return f'<svg width="{WIDTH}" height="{base + 10}" role="img" aria-label="faults and starts">{"".join(drawn)}</svg>'


def _row(outcome: Outcome, name: str, y: int, began: float, scale: float) -> Iterator[str]:
    """One fault: a bar from each strike to its healing."""
    yield f'<text x="0" y="{y}">{html.escape(name)}</text>'
    left = 0.0
    for line in (line for line in outcome.evidence.faults if line["fault"] == name):
        x = LEFT + (line["at"] - began) * scale
        if line["what"] == "begins":
            left = x
        elif line["what"] == "over":
            yield _bar(left, y - 10, max(2.0, x - left), 10, "#c33")


def _starts(outcome: Outcome, base: int, began: float, scale: float) -> Iterator[str]:
    yield f'<text x="0" y="{base}">starts a second</text>'
    starts = Counter(int(line["at"] - began) for line in outcome.evidence.runs if line["what"] == "start")
    for second, number in starts.items():
        height = HEIGHT * number / max(starts.values())
        yield _bar(LEFT + second * scale, base - height, max(1.0, scale - 1), height, "#36a")


def _bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'
