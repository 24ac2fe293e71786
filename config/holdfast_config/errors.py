"""The error of the settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast_config.trust import ServiceFolder


class ConfigError(ValueError):
    """The settings are invalid. Every problem is one line with the key, its value and the allowed values."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class BrokenSettingsError(ConfigError):
    """The settings that a command has read are invalid. `runtime_folder`: the runtime folder that they name all the
    same; None if a source that cannot be read or trusted could name another one."""

    def __init__(self, problems: Iterable[str], runtime_folder: ServiceFolder | None) -> None:
        super().__init__(problems)
        self.runtime_folder = runtime_folder
