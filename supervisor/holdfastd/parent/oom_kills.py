"""Whether the kernel has killed for want of memory: its counter for our own control group, else for the whole host."""

from __future__ import annotations

from pathlib import Path

from holdfastd.parent.cgroup import groups

_HOST = Path("/proc/vmstat")


class OomKills:
    """Remembers the counter, so that each kill is seen once."""

    def __init__(self, source: Path | None = None) -> None:
        self._source = source or _own_events()
        self._seen = self._count()

    def struck(self) -> bool:
        """Whether the kernel has killed for memory since this was last asked."""
        before, self._seen = self._seen, self._count()
        return self._seen > before

    def _count(self) -> int:
        try:
            lines = self._source.read_text("ascii").splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _own_events() -> Path:
    events = (folder / "memory.events" for folder in groups())
    return next((path for path in events if path.exists()), _HOST)
