"""Hosts that were told to be quiet: their workers finish what they run, and claim nothing."""

from __future__ import annotations

from dataclasses import dataclass

ALL_HOSTS = "*"


@dataclass(frozen=True, slots=True)
class Quiet:
    """A host, or ALL_HOSTS, that claims nothing: since when (ms), who said so, and why."""

    host: str
    since_ms: int
    by: str
    reason: str

    @property
    def is_all(self) -> bool:
        return self.host == ALL_HOSTS


@dataclass(frozen=True, slots=True)
class Told:
    """What came of telling a host something: whether it was new, and how many of its workers are so now."""

    is_new: bool
    workers: int
