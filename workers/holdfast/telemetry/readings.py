"""Readings: values of metrics at one moment, by their labels, before any export spells them."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.rollup import OTHER, Histogram
from holdfast.telemetry.metric_table import MOST_NAMES, Kind, Metric

Labels = tuple[str, ...]
LONGEST_NAME = 128  # characters of a label's value


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

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        values = self._values.setdefault(metric, {})
        before = values.get(labels, 0.0)
        values[labels] = max(before, value) if metric.keeps_highest else before + value

    def add_histogram(self, metric: Metric, histogram: Histogram, *labels: str) -> None:
        assert metric.kind is Kind.HISTOGRAM
        histograms = self._histograms.setdefault(metric, {})
        histograms.setdefault(labels, Histogram()).add(histogram.micros, histogram.buckets)

    def values(self) -> Iterator[tuple[Metric, dict[Labels, float]]]:
        yield from self._values.items()

    def histograms(self) -> Iterator[tuple[Metric, dict[Labels, Histogram]]]:
        yield from self._histograms.items()

    def update(self, other: Readings) -> None:
        """Take in readings of other metrics."""
        self.report_began_ms = self.report_began_ms or other.report_began_ms
        self._values |= other._values
        self._histograms |= other._histograms
