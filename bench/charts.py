"""The figures that are plotted, and their plots: drawn by bench.plots in an environment that has matplotlib."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.environments import environment
from bench.figures import Section
from bench.pool import ROOT

PICTURES = ROOT / "docs" / "pictures"
THEMES = ("light", "dark")


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar for each subject."""

    name: str
    title: str
    values: dict[str, float]
    kind: str = "bars"


@dataclass(frozen=True, slots=True)
class Lines:
    """A line for each series, from x to y."""

    name: str
    title: str
    x_title: str
    series: dict[str, list[tuple[float, float]]]
    logarithmic: bool = False
    kind: str = "lines"


Chart = Bars | Lines
_BARS = {
    "throughput": ("throughput", "drain", "tasks a second, no-op (more is better)"),
    "processor-time": ("throughput", "worker_us", "µs of worker processor time a task (less is better)"),
    "submit": ("throughput", "singly", "tasks submitted a second, one by one (more is better)"),
    "latency": ("latency", "p50", "ms from submit to handler on an idle queue, median (less is better)"),
    "memory": ("rest", "memory_mib", "MiB of eight idle workers and their parent (less is better)"),
}


SERIES = {"tasks queued": "queue", "workers": "workers", "supervisors": "supervisors"}
_COSTS = {"worker_us": "workers, parent and steward", "server_us": "Redis", "submit_us": "Redis, to submit in bulk"}


def of(section: Section) -> list[Chart]:
    return [chart for name, bars in _BARS.items() if (chart := _bars(section, name, *bars)) and len(chart.values) > 1]


def _bars(section: Section, name: str, measure: str, key: str, title: str) -> Bars:
    figures = {subject: section.figure(measure, subject, key) for subject in section.data["rounds"].get(measure, {})}
    return Bars(name, title, {subject: figure.value for subject, figure in figures.items() if figure})


def lines(name: str, points: dict[str, dict[str, float]]) -> Lines:
    """The cost of a task by this number."""
    series = {
        label: [(float(x), figures[key]) for x, figures in points.items() if key in figures]
        for key, label in _COSTS.items()
    }
    kept = {label: line for label, line in series.items() if line}
    title = f"µs of processor time a task, by {name}"
    return Lines(SERIES[name], title, name, kept, logarithmic=name == "tasks queued")


def draw(prefix: str, charts: Sequence[Chart]) -> list[str]:
    """The pictures in both themes; the Markdown that shows them."""
    PICTURES.mkdir(exist_ok=True)
    wanted = [{**_plain(chart), "path": str(PICTURES / f"{prefix}-{chart.name}")} for chart in charts]
    python = environment("plots") / "bin" / "python"
    subprocess.run([python, "-m", "bench.plots"], input=json.dumps(wanted), text=True, cwd=ROOT, check=True)
    return [_shown(prefix, chart) for chart in charts]


def _plain(chart: Chart) -> dict[str, Any]:
    return asdict(chart)


def _shown(prefix: str, chart: Chart) -> str:
    light, dark = (f"pictures/{prefix}-{chart.name}-{theme}.png" for theme in THEMES)
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img alt="{chart.title}" src="{light}"></picture>'
    )
