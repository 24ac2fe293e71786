"""Where and as whom a service runs: what differs from one machine, or from one instance, to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from holdfastd.unit.sandbox import Sandbox

USER = "holdfast"
SUPERVISOR = Path("/opt/holdfast/bin/supervisor")
ETC = Path("/etc/holdfast")
SETTINGS = ETC / "supervisor.toml"


@dataclass(frozen=True, slots=True)
class Site:
    """`instance` None is the one service `holdfast`; `settings` are what it runs, by field name."""

    supervisor: Path = SUPERVISOR
    user: str = USER
    instance: str | None = None
    shelter: Sandbox = field(default_factory=Sandbox)
    settings: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def template(self) -> str:
        """The unit's file."""
        return "holdfast.service" if self.instance is None else "holdfast@.service"

    @property
    def unit(self) -> str:
        """What systemctl calls it."""
        return "holdfast" if self.instance is None else f"holdfast@{self.instance}"

    @property
    def variables(self) -> Path:
        """Its environment file."""
        return ETC / f"{self.instance or 'supervisor'}.env"

    @property
    def runtime_dir(self) -> Path:
        """Where its supervisor is found."""
        return Path("/run", "holdfast" if self.instance is None else f"holdfast-{self.instance}")
