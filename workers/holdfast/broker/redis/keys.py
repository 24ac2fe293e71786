"""How keys are spelled. The Lua operations spell the same ones (`lua/shared/base.lua` and below)."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one namespace; all of them share the Cluster slot of the plain queue name."""

    queue: str

    @property
    def prefix(self) -> str:
        return f"{{{self.queue}}}:"

    def name(self, lane: str) -> str:
        """A lane's one name: a lane of the namespace may be called by its list, too."""
        return lane.removeprefix(f"{self.prefix}lane:")

    def lane(self, lane: str) -> str:
        """The list of a lane: the plain queue, any list named with a colon, else one of the namespace's own."""
        name = self.name(lane)
        return name if name == self.queue or ":" in name else f"{self.prefix}lane:{name}"

    def bell(self, lane: str) -> str:
        return f"{self.prefix}bell:{self.name(lane)}"

    def control(self, incarnation: str) -> str:
        return f"{self.prefix}control:{incarnation}"

    def worker(self, incarnation: str) -> str:
        return f"{self.prefix}worker:{incarnation}"

    def running(self, incarnation: str) -> str:
        return f"{self.worker(incarnation)}:running"

    def inbox(self, incarnation: str) -> str:
        return f"{self.worker(incarnation)}:inbox"

    def submitted(self, lane: str) -> str:
        return f"{self.prefix}submitted:{lane}"

    def done(self, task_id: str) -> str:
        return f"{self.prefix}done:{task_id}"

    @property
    def alarm(self) -> str:
        return self.control("steward")

    @property
    def workers(self) -> str:
        return f"{self.prefix}workers"

    @property
    def sequences(self) -> str:
        return f"{self.prefix}seq"

    @property
    def heads(self) -> str:
        return f"{self.prefix}heads"

    @property
    def due(self) -> str:
        return f"{self.prefix}due"

    @property
    def waiting(self) -> str:
        return f"{self.prefix}waiting"

    @property
    def parked(self) -> str:
        return f"{self.prefix}parked"

    @property
    def finished(self) -> str:
        return f"{self.prefix}finished"

    @property
    def dead(self) -> str:
        return f"{self.prefix}dead"

    @property
    def events(self) -> str:
        return f"{self.prefix}events"

    @property
    def unreadable(self) -> str:
        return f"{self.prefix}unreadable"

    @property
    def meta(self) -> str:
        return f"{self.prefix}meta"
