"""The error of the settings."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(ValueError):
    """The settings are invalid. Every problem is one line with the key, its value and the allowed values."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
