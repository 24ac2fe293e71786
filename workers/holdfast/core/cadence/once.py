"""Cadences that are no series: one moment, one run after the other, no more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class At:
    """Once, at this moment; one that has passed is due at once, and late. `NOW` is the moment of reading."""

    moment: int

    def following(self, after: int) -> int | None:
        return self.moment if after < self.moment else None


@dataclass(frozen=True, slots=True)
class Continue:
    """First at this moment, then again whenever a run has ended: the next moment is known only then."""

    first: int

    def following(self, after: int) -> int | None:
        return self.first if after < self.first else None


@dataclass(frozen=True, slots=True)
class Stop:
    """Never again."""

    def following(self, after: int) -> int | None:
        del after
        return None
