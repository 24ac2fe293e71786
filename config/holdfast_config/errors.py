"""The one error of the settings."""

from __future__ import annotations

from collections.abc import Iterable


class ConfigError(ValueError):
    """The settings cannot be used: one line a problem, each naming the key, its value and what is allowed."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))
