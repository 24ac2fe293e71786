"""Which engine and version a store is, and which of them may open another one's data.

The file formats of Redis and Valkey part after Redis 7.2: Valkey reads what Redis wrote up to there, Redis reads
nothing of Valkey's, and neither reads what a later version of itself wrote. Opened by the wrong one, it does not start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

VALKEY = "valkey"
REDIS = "redis"
LAST_COMMON = (7, 2)

_REPORTED = re.compile(r"^(Redis|Valkey) server v=(\d+)\.(\d+)(?:\.(\d+))?", re.IGNORECASE)
_RECORDED = re.compile(r"^(redis|valkey) (\d+)\.(\d+)\.(\d+)\s*$")


@dataclass(frozen=True, slots=True)
class EngineVersion:
    name: str
    version: tuple[int, int, int]

    @classmethod
    def reported(cls, text: str) -> Self | None:
        """From the answer of `valkey-server --version`; None if it is no such answer."""
        return cls._matched(_REPORTED.match(text))

    @classmethod
    def recorded(cls, text: str) -> Self | None:
        """From the line kept beside the data; None if it is no such line."""
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
        """Whether this engine reads the data that `writer` wrote; patch releases share a format."""
        release, written = self.version[:2], writer.version[:2]
        if self.name == writer.name:
            return release >= written
        return self.name == VALKEY and written <= LAST_COMMON
