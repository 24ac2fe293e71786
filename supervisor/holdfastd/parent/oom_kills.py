"""Detects kills for lack of memory: it reads the kernel's counter of our own control group, else that of the host."""

from __future__ import annotations

from pathlib import Path

from holdfastd.parent.cgroup import groups

_HOST = Path("/proc/vmstat")


class OomKills:
    """Keeps the last value of the counter, so that each kill is reported once."""

    def __init__(self, source: Path | None = None) -> None:
        self._source = source or _own_events()
        self._seen = self._count()

    def has_new(self) -> bool:
        """True if the kernel has killed for memory since the last call."""
        before, self._seen = self._seen, self._count()
        return self._seen > before

    def _count(self) -> int:
        try:
            lines = self._source.read_text("ascii").splitlines()
            return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
        except (OSError, ValueError, IndexError):
            return 0


def _own_events() -> Path:
    events = (folder / "memory.events" for folder in groups())
    return next((path for path in events if path.exists()), _HOST)
