"""Readings: values of metrics at one moment, by their labels, before any export spells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.core.rollup import OTHER, Histogram
from holdfast.telemetry.metric_table import MOST_NAMES, Kind, Metric

Labels = tuple[str, ...]
MOST_EXEMPLARS = 4  # of one histogram
LONGEST_NAME = 128  # characters of a label's value


class Exemplar(NamedTuple):
    """A sample of a histogram in seconds, with the ids of its trace and span in hexadecimal."""

    at_ms: int
    value: float
    trace_id: str
    span_id: str


class BoundedNames:
    """The values of one label: the first MOST_NAMES of them, then `other`. A value stays what it was called first, or a
    counter would go backwards."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most = most
        self._known: set[str] = set()

    def name(self, given: str) -> str:
        short = given[:LONGEST_NAME]
        if short in self._known:
            return short
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(short)
        return short


class Readings:
    """Values that share metric and labels are added; of ages and of yes or no the highest counts.

    `report_began_ms`: Unix time from which metrics `since_report` are counted.
    """

    def __init__(self, report_began_ms: int = 0) -> None:
        self.report_began_ms = report_began_ms
        self._values: dict[Metric, dict[Labels, float]] = {}
        self._histograms: dict[Metric, dict[Labels, Histogram]] = {}
        self._exemplars: dict[Metric, dict[Labels, list[Exemplar]]] = {}

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        values = self._values.setdefault(metric, {})
        before = values.get(labels, 0.0)
        values[labels] = max(before, value) if metric.keeps_highest else before + value

    def add_histogram(self, metric: Metric, histogram: Histogram, *labels: str) -> None:
        assert metric.kind is Kind.HISTOGRAM
        histograms = self._histograms.setdefault(metric, {})
        histograms.setdefault(labels, Histogram()).add(histogram.micros, histogram.buckets)

    def add_exemplar(self, metric: Metric, exemplar: Exemplar, *labels: str) -> None:
        kept = self._exemplars.setdefault(metric, {}).setdefault(labels, [])
        kept.append(exemplar)
        kept.sort(reverse=True)
        del kept[MOST_EXEMPLARS:]

    def exemplars(self, metric: Metric, labels: Labels) -> Sequence[Exemplar]:
        """The newest samples of a histogram whose spans are known, the newest first."""
        return self._exemplars.get(metric, {}).get(labels, ())

    def values(self) -> Iterator[tuple[Metric, dict[Labels, float]]]:
        yield from self._values.items()

    def histograms(self) -> Iterator[tuple[Metric, dict[Labels, Histogram]]]:
        yield from self._histograms.items()

    def update(self, other: Readings) -> None:
        """Take in readings of other metrics."""
        self.report_began_ms = self.report_began_ms or other.report_began_ms
        self._values |= other._values
        self._histograms |= other._histograms
        self._exemplars |= other._exemplars
