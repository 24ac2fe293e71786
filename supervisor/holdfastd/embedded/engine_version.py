"""The engine and version of a store, and which engine can open data of which other.

The file formats of Redis and Valkey differ after Redis 7.2: Valkey reads data of Redis up to 7.2, Redis reads none of
Valkey's, and neither reads data of a later version of itself. A server does not start on data that it cannot read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

VALKEY = "valkey"
REDIS = "redis"
LAST_COMMON = (7, 2)

_REPORTED = re.compile(r"^(Redis|Valkey) server v=(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", re.IGNORECASE)
_RECORDED = re.compile(r"^(redis|valkey) (\d{1,9})\.(\d{1,9})\.(\d{1,9})\s*$")


@dataclass(frozen=True, slots=True)
class EngineVersion:
    name: str
    version: tuple[int, int, int]

    @classmethod
    def reported(cls, text: str) -> Self | None:
        """Parse the output of `valkey-server --version`; None if it is something else."""
        return cls._matched(_REPORTED.match(text))

    @classmethod
    def recorded(cls, text: str) -> Self | None:
        """Parse the line that is kept beside the data; None if it is something else."""
        return cls._matched(_RECORDED.match(text))

    @classmethod
    def _matched(cls, match: re.Match[str] | None) -> Self | None:
        if match is None:
            return None
        name, major, minor, patch = match.groups()
        return cls(name.lower(), (int(major), int(minor), int(patch or 0)))

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"

    def opens(self, writer: EngineVersion) -> bool:
        """True if this engine can read data of `writer`; patch releases share a format."""
        release, written = self.version[:2], writer.version[:2]
        if self.name == writer.name:
            return release >= written
        return self.name == VALKEY and written <= LAST_COMMON
