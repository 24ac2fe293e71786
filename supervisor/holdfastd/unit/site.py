"""Describes where and as which user a service runs: everything that differs between machines or instances."""

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
    """`instance` None is the single service `holdfast`; `settings`: its settings, by field name."""

    supervisor: Path = SUPERVISOR
    user: str = USER
    instance: str | None = None
    sandbox: Sandbox = field(default_factory=Sandbox)
    settings: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def template(self) -> str:
        """The file name of the unit."""
        return "holdfast.service" if self.instance is None else "holdfast@.service"

    @property
    def unit(self) -> str:
        """The name of the unit for systemctl."""
        return "holdfast" if self.instance is None else f"holdfast@{self.instance}"

    @property
    def variables(self) -> Path:
        """The path of its environment file."""
        return ETC / f"{self.instance or 'supervisor'}.env"

    @property
    def runtime_dir(self) -> Path:
        """The runtime folder of its supervisor."""
        return Path("/run", "holdfast" if self.instance is None else f"holdfast-{self.instance}")
