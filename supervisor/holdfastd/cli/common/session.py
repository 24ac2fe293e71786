"""One call of the command line: what its common options said, and the settings that follow from them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from holdfastd.cli.common import output

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast_config import Settings
    from holdfast_config.load import Resolved


@dataclass
class Session:
    """`flags` are settings by field name, as they were typed; `json`: documents instead of tables."""

    flags: dict[str, object] = field(default_factory=dict[str, object])
    json: bool = False
    timeline: bool = False  # a verb of a timeline scheduler, whose settings file goes before others
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """Read when first asked for; raises ConfigError. What was taken from a file that nobody named is told."""
        settings = self.resolved.settings
        for notice in self.resolved.notices:
            output.note(notice)
        self.debug = self.debug or settings.log_level == "debug"
        return settings

    @cached_property
    def resolved(self) -> Resolved:
        """The settings with their origins."""
        from holdfast_config.load import resolve  # slow to import, and `version` needs no settings

        return resolve(self.flags, timeline=self.timeline)

    def warn(self) -> None:
        """Tell what is doubtful about the settings files, of which most commands say nothing."""
        for warning in self.resolved.warnings:
            output.note(f"warning: {warning}")

    @cached_property
    def runtime_dir(self) -> Path:
        """The supervisor's runtime folder. UntrustedError where another user could answer in its place."""
        return self.settings.runtime_folder.check()

    @property
    def for_people(self) -> bool:
        """Whether the answer is read by somebody at a terminal."""
        return sys.stdout.isatty() and not self.json
