"""Exponential histograms of durations: how many samples fell into each bucket.

Bucket k holds the samples from 2^(k/8) s to below 2^((k+1)/8) s: each is 9 % wider than the one before it. These are
the buckets of OpenTelemetry's exponential histograms at scale 3, so histograms of many workers and minutes are merged
by adding counts, and exported as they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

SCALE = 3  # each doubling has 2^SCALE buckets
SHORTEST = 1e-6  # seconds: shorter samples count as this
Buckets: TypeAlias = Mapping[int, int]  # bucket → number of samples

_per_doubling = float(2**SCALE)


def bucketed(samples: Collection[float]) -> Counter[int]:
    """The buckets of these samples in seconds. Each step is one of C: a worker does this for every task."""
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
    """The histogram of all their samples."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return total


def quantile(buckets: Buckets, share: float) -> float | None:
    """The duration in seconds that this share of the samples does not exceed, within 9 %; None without samples.

    Within a bucket the samples are taken as spread evenly.
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
