"""One call of the command line: what its common options said, and the settings that follow from them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast_config import Settings


@dataclass
class Session:
    """`flags` are settings by field name, as they were typed; `json`: documents instead of tables."""

    flags: dict[str, object] = field(default_factory=dict[str, object])
    json: bool = False
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """Read when first asked for; raises ConfigError."""
        from holdfast_config import load  # slow to import, and `version` needs no settings

        settings = load(self.flags)
        self.debug = self.debug or settings.log_level == "debug"
        return settings

    @property
    def for_people(self) -> bool:
        """Whether the answer is read by somebody at a terminal."""
        return sys.stdout.isatty() and not self.json
