"""Spells the names of keys. The Lua operations spell the same ones (`store/lua/shared`)."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.errors import InvalidTaskError

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one namespace; all of them share the Cluster slot of the plain queue name.

    In a Cluster a lane must share it, too, and scripts name a second key, which never exists. While a slot is moved key
    by key, its old node lacks that key and refuses a script before it begins; otherwise the script would fail in the
    middle, at the first key that has moved. Its new node refuses a script that comes early.
    """

    queue: str
    in_cluster: bool = False

    @property
    def declared(self) -> tuple[str | int, ...]:
        """The keys that scripts are called with, after their number."""
        return (2, self.queue, f"{self.prefix}nowhere") if self.in_cluster else (1, self.queue)

    @property
    def prefix(self) -> str:
        return f"{{{self.queue}}}:"

    def name(self, lane: str) -> str:
        """The canonical name of a lane: a lane of the namespace may also be named by its list."""
        name = lane.removeprefix(f"{self.prefix}lane:")
        if self.in_cluster and ":" in name and name != self.queue:
            raise InvalidTaskError(
                f"lane {lane!r} is another list than {self.queue!r}, and a Cluster may keep it elsewhere; "
                f"in a Cluster a lane is {self.prefix}lane:NAME, or NAME without a colon"
            )
        return name

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

    def owner(self, name: str) -> str:
        """The ids of the schedules of an owner."""
        return f"{self.prefix}owner:{name}"

    @property
    def schedules(self) -> str:
        return f"{self.prefix}schedules"

    @property
    def heads(self) -> str:
        return f"{self.prefix}heads"

    @property
    def turned(self) -> str:
        return f"{self.prefix}turned"

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
    def quiet(self) -> str:
        return f"{self.prefix}quiet"

    @property
    def unreadable(self) -> str:
        return f"{self.prefix}unreadable"

    @property
    def meta(self) -> str:
        return f"{self.prefix}meta"

    @property
    def types(self) -> dict[str, str]:
        """The type of each key that a namespace has once; those of lanes, tasks and workers are left out."""
        zsets = (self.workers, self.due, self.finished, self.dead, self.schedules)
        lists, others = (self.queue, self.unreadable), {self.meta: "hash", self.events: "stream"}
        return dict.fromkeys(lists, "list") | dict.fromkeys(zsets, "zset") | others

    def types_of(self, task_id: str) -> dict[str, str]:
        """The type of each key of one task."""
        lists, texts = ("history", "pending", "trail"), ("op", "checkpoint")
        kinds = {"task": "hash", "messages": "hash"} | dict.fromkeys(lists, "list") | dict.fromkeys(texts, "string")
        return {f"{self.prefix}{name}:{task_id}": kind for name, kind in kinds.items()}

    def conversation(self, context_id: str) -> str:
        return f"{self.prefix}conversation:{context_id}"

    def conversations(self, owner: str | None) -> str:
        """The index of all conversations, or of those of one owner."""
        return f"{self.prefix}conversations" if owner is None else f"{self.prefix}owned:{owner}"

    def about(self, task_id: str) -> str:
        return f"{self.prefix}about:{task_id}"

    def feedback(self, task_id: str) -> str:
        return f"{self.prefix}feedback:{task_id}"

    @property
    def pushes(self) -> str:
        return f"{self.prefix}pushes"
