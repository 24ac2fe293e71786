"""Asks promtool which alerts of config/alerts.yml fire on scrapes of a real supervisor, and what a dashboard shows.

    timeline = Timeline(scraper)
    timeline.add(minutes=20)           # as it is now, for so long
    os.kill(worker, signal.SIGKILL)
    timeline.add(minutes=5)
    assert_fired(timeline, "HoldfastDeaths")

Alerts wait for minutes, and a test does not: each scrape stands for as many minutes as the test says.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scraping import Scrape, Scraper

ALERTS = Path(__file__).parents[2] / "config/alerts.yml"
FIRED = 'group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[3h]))'

Series = tuple[str, frozenset[tuple[str, str]]]


@dataclass
class Timeline:
    """The scrapes of one supervisor. `minutes`: of each series its values, one a minute; None: it was not there."""

    scraper: Scraper
    length: int = 0
    minutes: dict[Series, list[float | None]] = field(default_factory=dict[Series, list[float | None]])

    def add(self, *, minutes: int, fits: Callable[[Scrape], bool] = lambda _: True) -> None:
        """The first scrape that fits, for so many minutes."""
        for name, labels, value in self.scraper.until(fits).samples:
            values = self.minutes.setdefault((name, frozenset(labels.items())), [])
            values += [None] * (self.length - len(values)) + [value] * minutes
        self.length += minutes

    def series(self) -> list[dict[str, str]]:
        return [
            {"series": _spelled(name, labels), "values": " ".join("_" if v is None else f"{v:.17g}" for v in values)}
            for (name, labels), values in self.minutes.items()
        ]


def assert_fired(timeline: Timeline, *alerts: str, healthy_minutes: int) -> None:
    """In the first minutes no alert has fired, in the end exactly these have."""
    _assert_answers(timeline, [_fired(healthy_minutes - 1, ()), _fired(timeline.length - 1, alerts)])


def assert_shown(timeline: Timeline, expressions: Sequence[str]) -> None:
    """In the end each of these has an answer."""
    minute, one = f"{timeline.length - 1}m", [{"labels": "{}", "value": 1}]
    _assert_answers(
        timeline, [{"expr": f"group({each})", "eval_time": minute, "exp_samples": one} for each in expressions]
    )


def _assert_answers(timeline: Timeline, expected: Sequence[dict[str, Any]]) -> None:
    """Skips the test without promtool."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool, of the package prometheus, is not on the path")
    test = {"interval": "1m", "input_series": timeline.series(), "promql_expr_test": expected}
    document = {"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}
    done = subprocess.run(
        [promtool, "test", "rules", "/dev/stdin"],
        input=json.dumps(document),  # JSON is YAML
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _fired(minute: int, alerts: Sequence[str]) -> dict[str, Any]:
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(alerts)]
    return {"expr": FIRED, "eval_time": f"{minute}m", "exp_samples": samples}


def _spelled(name: str, labels: frozenset[tuple[str, str]]) -> str:
    every = {**dict(labels), "instance": "here"}
    return f"{name}{{{', '.join(f'{label}={json.dumps(value)}' for label, value in sorted(every.items()))}}}"
