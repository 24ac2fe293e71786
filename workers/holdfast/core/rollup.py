"""Rollups: the statistics of a stretch of time, for each pair of lane and handler, over all hosts.

The store keeps one rollup a minute as a hash, and packed ones of ten minutes, hours and days. A field is spelled
`<figure> <length of the lane> <lane><handler>`; the handler is empty for tasks that name none. The figures:

- an outcome of deliveries (`completed`, `retry`, …; `canceled` and others that no worker settled): a number;
- `bytes:operation`, `bytes:result`: numbers;
- `example:<outcome>`: the slowest run of a second whose trace was sampled (see `Example`);
- `wait` (from when a task could be claimed to its claim), `run:<outcome>` (of its handler) and `recovery` (from the
  loss of its worker to when it was put back): histograms, spelled
  `<sum of the samples in microseconds> <bucket> <number of samples> <bucket> <number of samples> …`

The scripts that record outcomes also count them, so counts are exact. Workers send samples once a second. If a worker
dies, the samples of its last second are missing; `Figures.lost_samples` is their number.
"""

from __future__ import annotations

import bz2
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec

from holdfast.core.plain_json import UNREADABLE_JSON

# Exponential histograms of durations: how many samples fell into each bucket.
#
# Bucket k holds the samples from 2^(k/8) s to below 2^((k+1)/8) s: each is 9 % wider than the one before it. These are
# the buckets of OpenTelemetry's exponential histograms at scale 3, so histograms of many workers and minutes are merged
# by adding counts, and exported as they are.

SCALE = 3  # each doubling has 2^SCALE buckets
SHORTEST = 1e-6  # seconds: shorter samples count as this
Buckets: TypeAlias = Mapping[int, int]  # bucket → number of samples

_per_doubling = float(2**SCALE)


def bucketed(samples: Collection[float]) -> Counter[int]:
    """Sorts samples (seconds) into buckets. Every step is a C function, because a worker does this for every task."""
    some_are_short = min(samples, default=SHORTEST) < SHORTEST
    doublings = map(math.log2, map(SHORTEST.__add__, samples) if some_are_short else samples)
    return Counter(map(math.floor, map(_per_doubling.__mul__, doublings)))


def bucket_of_ms(ms: int) -> int:
    """The bucket of one duration in milliseconds."""
    return math.floor(math.log2(ms / 1000 + SHORTEST) * _per_doubling)


def lower_bound(bucket: int) -> float:
    """The shortest duration of a bucket, in seconds."""
    return math.exp2(bucket / _per_doubling)


def merged(histograms: Iterable[Buckets]) -> Counter[int]:
    """One histogram with all samples of these."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return total


def quantile(buckets: Buckets, share: float) -> float | None:
    """The duration in seconds that this share of the samples does not exceed, within 9 %; None without samples.

    Samples are assumed to be spread evenly within a bucket.
    """
    count = sum(buckets.values())
    if not count:
        return None
    rank, below = share * count, 0
    for bucket in sorted(buckets):
        inside = buckets[bucket]
        if inside and below + inside >= rank:
            return lower_bound(bucket) + (rank - below) / inside * (lower_bound(bucket + 1) - lower_bound(bucket))
        below += inside
    return lower_bound(max(buckets) + 1)


MINUTE = 60_000  # milliseconds
TEN_MINUTES = 10 * MINUTE
HOUR = 6 * TEN_MINUTES
DAY = 24 * HOUR
PACKED = {TEN_MINUTES: MINUTE, HOUR: TEN_MINUTES, DAY: HOUR}  # length of a packed rollup: length of its parts
MINUTES_KEPT_MS = 8 * HOUR  # rollups of minutes are kept for so long
PACKED_KEPT_MS = 30 * DAY  # and packed ones
PACKED_BYTES = {TEN_MINUTES: 6144, HOUR: 12_288, DAY: 32_768}  # of one at most: 36 MB in thirty days
NAMES = 4096  # parsed names of fields in the cache: all rollups of a queue have the same names
OTHER = "other"  # the name under which a full rollup counts its further handlers and lanes

RUN = "run:"
WAIT = "wait"
RECOVERY = "recovery"
BYTES = "bytes:"
EXAMPLE = "example:"

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(dict[str, bytes]).decode


class Series(NamedTuple):
    """The lane and the handler that figures belong to."""

    lane: str
    handler: str


@dataclass(slots=True)
class Histogram:
    """A histogram of durations. `micros`: the sum of all samples in microseconds."""

    micros: int = 0
    buckets: Counter[int] = field(default_factory=Counter[int])

    @property
    def count(self) -> int:
        return self.buckets.total()

    def add(self, micros: int, buckets: Buckets) -> None:
        self._add(micros, buckets.items())

    def add_spelled(self, text: bytes) -> None:
        """Add a histogram in its stored form. Raises ValueError for any other text."""
        micros, *flat = map(int, text.split())
        self._add(micros, list(zip(flat[::2], flat[1::2], strict=True)))

    def _add(self, micros: int, buckets: Iterable[tuple[int, int]]) -> None:
        self.micros += micros
        total, so_far = self.buckets, self.buckets.get
        for bucket, samples in buckets:  # half the time of Counter.update: a long period has millions
            total[bucket] = so_far(bucket, 0) + samples

    def spelled(self) -> bytes:
        """The stored form. The histogram must have samples, else the text would look like a number."""
        parts = [self.micros]
        for bucket, samples in sorted(self.buckets.items()):
            parts += bucket, samples
        return " ".join(map(str, parts)).encode()

    @classmethod
    def read(cls, text: bytes) -> Histogram:
        """Read a histogram from its stored form. Raises ValueError for any other text."""
        found = cls()
        found.add_spelled(text)
        return found


class Example(NamedTuple):
    """One run with its span. It took `micros`, after a wait of `waited_ms`, and ended at `at_ms` (Unix time)."""

    micros: int
    waited_ms: int
    at_ms: int
    trace_id: str
    span_id: str

    def spelled(self) -> bytes:
        return " ".join(map(str, self)).encode()

    @classmethod
    def read(cls, text: bytes) -> Example:
        """Read an example from its stored form. Raises ValueError for any other text."""
        micros, waited_ms, at_ms, trace_id, span_id = text.decode().split(" ")
        if (len(trace_id), len(bytes.fromhex(trace_id)), len(span_id), len(bytes.fromhex(span_id))) != (32, 16, 16, 8):
            raise ValueError(text)
        return cls(int(micros), int(waited_ms), int(at_ms), trace_id, span_id)


@dataclass(slots=True)
class Figures:
    """The figures of one series. `outcomes`: number of deliveries by outcome; `runs`: run times by outcome; `examples`:
    the newest example of each outcome."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    sizes: Counter[str] = field(default_factory=Counter[str])
    wait: Histogram = field(default_factory=Histogram)
    runs: defaultdict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    recovery: Histogram = field(default_factory=Histogram)
    examples: dict[str, Example] = field(default_factory=dict[str, Example])

    @property
    def run(self) -> Histogram:
        """The run times of all outcomes."""
        total = Histogram()
        for each in self.runs.values():
            total.add(each.micros, each.buckets)
        return total

    @property
    def lost_samples(self) -> int:
        """The number of runs whose times were lost, because their worker died."""
        return sum(max(0, self.outcomes[outcome] - runs.count) for outcome, runs in self.runs.items())

    def add(self, other: Figures) -> None:
        self.outcomes.update(other.outcomes)
        self.sizes.update(other.sizes)
        self.wait.add(other.wait.micros, other.wait.buckets)
        self.recovery.add(other.recovery.micros, other.recovery.buckets)
        for outcome, runs in other.runs.items():
            self.runs[outcome].add(runs.micros, runs.buckets)
        for outcome, example in other.examples.items():
            self._keep_newest(outcome, example)

    def _keep_newest(self, outcome: str, example: Example) -> None:
        if outcome not in self.examples or self.examples[outcome].at_ms < example.at_ms:
            self.examples[outcome] = example

    def take(self, figure: str, value: bytes) -> None:
        """Add one field of a stored rollup."""
        if figure in (WAIT, RECOVERY):
            (self.wait if figure == WAIT else self.recovery).add_spelled(value)
        elif figure.startswith(RUN):
            self.runs[figure.removeprefix(RUN)].add_spelled(value)
        elif figure.startswith(EXAMPLE):
            self._keep_newest(figure.removeprefix(EXAMPLE), Example.read(value))
        elif figure.startswith(BYTES):
            self.sizes[figure.removeprefix(BYTES)] += int(value)
        else:
            self.outcomes[figure] += int(value)


Rollup = dict[Series, Figures]
Sum = defaultdict[Series, Figures]


def field_of(figure: str, series: Series) -> str:
    """The name of a field of a stored rollup."""
    return f"{figure} {len(series.lane.encode())} {series.lane}{series.handler}"


@lru_cache(NAMES)
def read_field(name: bytes) -> tuple[str, Series]:
    """The figure and the series of a field. Raises ValueError if the name is no field."""
    figure, length, names = name.split(b" ", 2)
    lane, handler = names[: int(length)], names[int(length) :]
    return figure.decode(), Series(lane.decode(errors="replace"), handler.decode(errors="replace"))


def rollup_of(fields: Iterable[tuple[bytes, bytes]]) -> Rollup:
    """Read a stored rollup. A field that cannot be read is skipped, because a wrong statistic should not make the
    caller fail."""
    rollup = Sum(Figures)
    for name, value in fields:
        try:
            figure, series = read_field(name)
            rollup[series].take(figure, value)
        except ValueError:
            continue
    return rollup


def sum_of(rollups: Iterable[Rollup]) -> Rollup:
    """The sum of several rollups."""
    total = Sum(Figures)
    for rollup in rollups:
        add_to(total, rollup)
    return total


def add_to(total: Sum, rollup: Rollup) -> None:
    """Add each series of a rollup to the same series of a sum."""
    for series, figures in rollup.items():
        total[series].add(figures)


def fields_of(rollup: Rollup) -> Mapping[str, bytes]:
    """The stored form of a rollup, field by field. Examples are left out, because they matter only for a short time."""
    fields: dict[str, bytes] = {}
    for series, figures in rollup.items():
        for outcome, number in figures.outcomes.items():
            fields[field_of(outcome, series)] = b"%d" % number
        for what, number in figures.sizes.items():
            fields[field_of(BYTES + what, series)] = b"%d" % number
        if figures.wait.count:
            fields[field_of(WAIT, series)] = figures.wait.spelled()
        if figures.recovery.count:
            fields[field_of(RECOVERY, series)] = figures.recovery.spelled()
        for outcome, runs in figures.runs.items():
            fields[field_of(RUN + outcome, series)] = runs.spelled()
    return fields


def packed(rollup: Rollup, most_bytes: int) -> bytes:
    """The compressed form of a rollup, of at most `most_bytes` if possible. If the form would be longer, some pairs of
    lane and handler are summed up as `other`: those with the fewest deliveries, and as few of them as possible."""
    text = _compressed(rollup)
    if len(text) <= most_bytes or len(rollup) < 2:
        return text
    ordered = sorted(rollup, key=lambda series: rollup[series].outcomes.total(), reverse=True)

    def kept(number: int) -> bytes:
        return _compressed(_busiest(rollup, ordered, number))

    too_many = bisect_left(range(len(ordered)), x=True, key=lambda number: len(kept(number)) > most_bytes)
    return kept(max(0, too_many - 1))


def unpacked(text: bytes) -> Rollup:
    """The rollup that was packed; an empty one if it cannot be read."""
    try:
        fields = _unpack(bz2.decompress(text))
    except (OSError, ValueError, *UNREADABLE_JSON):
        return {}
    return rollup_of((name.encode(), value) for name, value in fields.items())


def _compressed(rollup: Rollup) -> bytes:
    return bz2.compress(_pack(fields_of(rollup)))  # a quarter less than by zlib


def _busiest(rollup: Rollup, ordered: Sequence[Series], kept: int) -> Rollup:
    """The first `kept` series in the given order, and all other series summed up as `other`."""
    others = [{Series("", OTHER): rollup[series]} for series in ordered[kept:]]
    return sum_of([{series: rollup[series] for series in ordered[:kept]}, *others])
