"""The id of this boot of the host."""

from __future__ import annotations

from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Another after each start of the host; empty where the system does not tell."""
    return _BOOT_ID.read_text("ascii").strip() if _BOOT_ID.exists() else ""
