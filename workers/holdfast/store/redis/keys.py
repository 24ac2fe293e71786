"""Spells the keys of a namespace; their names are in `key_names`."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.rollup import DAY, HOUR, TEN_MINUTES
from holdfast.errors import InvalidTaskError
from holdfast.store.redis.key_names import KEY_NAMES

PACKED_NAMES = {TEN_MINUTES: "", HOUR: "hours:", DAY: "days:"}  # of packed rollups, before their number

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

    def _key(self, name: str, of: str = "") -> str:
        return f"{self.prefix}{KEY_NAMES[name]}{of}"

    def name(self, lane: str) -> str:
        """The canonical name of a lane: a lane of the namespace may also be named by its list."""
        if lane == self.queue:
            return lane
        name = lane.removeprefix(self._key("lane"))
        if self.in_cluster and ":" in name and name != self.queue:
            raise InvalidTaskError(
                f"a Cluster may keep lane {lane!r} on another node than queue {self.queue!r}; "
                f"in a Cluster a lane is {self._key('lane')}NAME, or NAME without a colon"
            )
        return name

    def lane(self, lane: str) -> str:
        """The list of a lane: the plain queue, any list named with a colon, else one of the namespace's own."""
        name = self.name(lane)
        return name if name == self.queue or ":" in name else self._key("lane", name)

    def bell(self, lane: str) -> str:
        return self._key("bell", self.name(lane))

    def control(self, incarnation: str) -> str:
        return self._key("control", incarnation)

    def worker(self, incarnation: str) -> str:
        return self._key("worker", incarnation)

    def running(self, incarnation: str) -> str:
        return self.worker(incarnation) + KEY_NAMES["of_running"]

    def inbox(self, incarnation: str) -> str:
        return self.worker(incarnation) + KEY_NAMES["of_inbox"]

    def submitted(self, lane: str) -> str:
        return self._key("submitted", lane)

    def done(self, task_id: str) -> str:
        return self._key("done", task_id)

    @property
    def alarm(self) -> str:
        return self._key("steward_control")

    @property
    def workers(self) -> str:
        return self._key("workers")

    def owner(self, name: str) -> str:
        """The ids of the schedules of an owner."""
        return self._key("owner", name)

    @property
    def schedules(self) -> str:
        return self._key("schedules")

    @property
    def closed(self) -> str:
        return self._key("closed")

    @property
    def turned(self) -> str:
        return self._key("turned")

    @property
    def due(self) -> str:
        return self._key("due")

    @property
    def finished(self) -> str:
        return self._key("finished")

    @property
    def dead(self) -> str:
        return self._key("dead")

    @property
    def activity(self) -> str:
        return self._key("activity")

    @property
    def web_sessions(self) -> str:
        return self._key("web_sessions")

    @property
    def published(self) -> str:
        return self._key("published")

    @property
    def bulk_changes(self) -> str:
        return self._key("bulk_changes")

    def bulk_change(self, change_id: str) -> str:
        return self._key("bulk_change", change_id)

    @property
    def events(self) -> str:
        return self._key("events")

    @property
    def quiet(self) -> str:
        return self._key("quiet")

    @property
    def unreadable(self) -> str:
        return self._key("unreadable")

    @property
    def meta(self) -> str:
        return self._key("meta")

    @property
    def types(self) -> dict[str, str]:
        """The type of each key that a namespace has once; those of lanes, tasks and workers are left out."""
        zsets = (self.workers, self.due, self.finished, self.dead, self.schedules)
        lists, others = (self.queue, self.unreadable), {self.meta: "hash", self.events: "stream"}
        rules = dict.fromkeys((self._key("rules"), self.quiet), "hash")
        return dict.fromkeys(lists, "list") | dict.fromkeys(zsets, "zset") | others | rules

    def record(self, task_id: str) -> str:
        return self._key("task", task_id)

    def types_of(self, task_id: str) -> dict[str, str]:
        """The type of each key of one task."""
        lists, texts = ("history", "pending", "trail"), ("op", "checkpoint")
        kinds = {"task": "hash", "messages": "hash"} | dict.fromkeys(lists, "list") | dict.fromkeys(texts, "string")
        return {self._key(name, task_id): kind for name, kind in kinds.items()}

    def packed_rollup(self, length_ms: int, window: int) -> str:
        """The figures of ten minutes, of an hour or a day; `window`: their number, counted from 1970."""
        return self._key("rollups", f"{PACKED_NAMES[length_ms]}{window}")

    def conversation(self, context_id: str) -> str:
        return self._key("conversation", context_id)

    def conversations(self, owner: str | None) -> str:
        """The index of all conversations, or of those of one owner."""
        return self._key("conversations") if owner is None else self._key("owned", owner)

    def about(self, task_id: str) -> str:
        return self._key("about", task_id)

    def feedback(self, task_id: str) -> str:
        return self._key("feedback", task_id)

    @property
    def pushes(self) -> str:
        return self._key("pushes")
