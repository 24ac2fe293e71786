"""The keys of a namespace: a table of their names, and how they are spelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from holdfast.core.rollup import DAY, HOUR, TEN_MINUTES
from holdfast.errors import InvalidTaskError

# The names of all keys of a namespace, for Python and for the Lua scripts.
#
# In a script `KEY.meta` is the key itself and `KEY.task .. id` the key of one task; `NAME.meta` is the name alone. The
# loader writes the names from this table into each script. In Python they are `keys["meta"]` and `keys["task"] + id`.

# A name that ends with a colon is followed by an id, a lane, a host or a digest.
KEY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        # of each task
        "task": "task:",  # hash: the record
        "op": "op:",  # text: the operation of its present turn
        "history": "history:",  # list: operation and result of each earlier turn
        "result": "result:",  # text: the result of one turn, `<task>:<turn>`
        "pending": "pending:",  # list: messages that wait for its next turn
        "left": "left:",  # list: messages that waited when it ended, to be set aside
        "messages": "messages:",  # hash: earlier messages, id to digest
        "checkpoint": "checkpoint:",  # text: the checkpoint that its handler has saved
        "steps": "steps:",  # hash: the results of its steps by their places, and `bytes`
        "parts": "parts:",  # list: batches of parts that a task has emitted
        "trail": "trail:",  # list: what happened to it
        "retrying": "retrying:",  # list: its history, copied in steps for its retry
        "ties": "ties:",  # set: everything that points at it until it ends
        "children": "children:",  # sorted set: tasks that wait for its end
        "parents": "parents:",  # hash: the tasks that it was submitted after, to their places and ends
        "outcome": "outcome:",  # hash: the outcome of a parent, `<task>:<ms>`, and the children that have it
        "given": "given:",  # text: the result of a parent whose record was deleted, `<task>:<ms>`
        "done": "done:",  # channel: tells its state when it ends or asks
        # tasks by state
        "due": "due",  # sorted set: delayed tasks, by when they are due
        "waiting": "waiting",  # sorted set: tasks that wait for others
        "parked": "parked",  # sorted set: tasks that wait for an answer or a resume
        "finished": "finished",  # sorted set: tasks that have ended, by when
        "dead": "dead",  # sorted set: dead letters, by when
        "tally": "tally",  # hash: how many tasks are parked or ended, by state
        "joining": "joining",  # set: suspended tasks whose messages still join their turn
        "leftover": "leftover",  # set: tasks with messages to be set aside
        "cancels": "cancels",  # sorted set: ids canceled before their tasks came
        "agenda": "agenda",  # sorted set: expiries, ends to tell, keys to forget, by when (see agenda.lua)
        "unique": "unique",  # hash: unique key to its task
        "debounce": "debounce",  # hash: debounce key to its task
        # of each lane, and of all
        "lane": "lane:",  # list: the entries of a lane of the namespace
        "bell": "bell:",  # list: wakes workers that wait for the lane
        "submitted": "submitted:",  # sorted set: its submitted tasks, by number
        "suspects": "suspects:",  # sorted set: its suspects, by number
        "audit": "audit:",  # set: tasks whose entries the audit has missed once
        "active": "active:",  # set: tasks that run and count for its limit
        "gates": "gates:",  # sorted set: its gates, by when to look at them
        "held": "held:",  # sorted set: tasks at a gate, `<length of lane>:<lane>:<gate>`
        "unknown": "unknown:",  # sorted set: names of handlers that its tasks wait for
        "seq": "seq",  # hash: lane to its last number
        "heads": "heads",  # hash: lane to the highest number taken from it
        "stale": "stale",  # hash: lane to how many of its entries no task needs, as far as is known
        "tended": "tended",  # hash: lane that holds entries to when both its ends were looked at
        "turned": "turned",  # set: lanes whose front is the tail of their list
        "wrong_end": "wrong_end",  # hash: lane to a count of pushes at its front
        "turns": "turns",  # hash: lane to how many it has had in this round, for weights
        "rules": "rules",  # hash: bounds and pauses of lanes and handlers
        "rates": "rates",  # hash: until when each rate is used up
        "depths": "depths",  # stream: how many tasks waited in each lane, minute by minute
        "closed": "closed",  # hash: lane in which nothing can start to the reason; '': see doubt.lua
        "alarms": "alarms",  # sorted set: lanes by when a rate lets them open again
        "gated": "gated",  # set: lanes with gates
        "keyed": "keyed:",  # set: tasks that run with this concurrency key
        "unserved": "unserved",  # sorted set: gates of unknown handlers, by the last look
        "clocks": "clocks",  # hash: how long nobody could serve such a gate
        # workers
        "workers": "workers",  # sorted set: incarnations by their last heartbeat
        "worker": "worker:",  # hash: the record of an incarnation
        "of_running": ":running",  # behind a worker's key: hash of the tasks it runs, to their claims
        "of_inbox": ":inbox",  # behind a worker's key: list of entries it is to read
        "control": "control:",  # list: hints to a worker
        "steward_control": "control:steward",  # list: wakes the steward
        "schedules_control": "control:schedules",  # list: wakes the process that makes fires
        "webhooks_control": "control:webhooks",  # list: wakes the process that sends webhooks
        "names": "names:",  # set: names of handlers, by the digest that workers register
        "handlers": "handlers",  # set: those digests
        "published": "published",  # hash: handler's name to its arguments and options, as workers publish them
        "quarantine": "quarantine",  # set: incarnations of quarantine workers
        "ahead": "ahead",  # hash: incarnation that has claimed tasks ahead, to the lane of these
        "apart": "apart",  # hash: host to the suspect that is to run there alone
        "death": "death:",  # hash: tasks that shared the death of an incarnation
        "deaths": "deaths",  # sorted set: those incarnations, by when
        "quiet": "quiet",  # hash: hosts that claim nothing
        # schedules
        "schedules": "schedules",  # sorted set: ids by when something is to be done about them
        "schedule": "schedule:",  # hash: the record of a schedule
        "fires": "fires:",  # list: the outcomes of its fires
        "owner": "owner:",  # sorted set: the schedules of an owner
        "declared": "declared",  # set: schedules that code declares
        "catalog": "catalog:",  # set: schedules that the code of workers declares, by digest
        "catalog_digests": "catalog_digests",  # set: those digests
        # batches
        "batch": "batch:",  # hash: the facts of a batch
        "batch_tasks": "batch_tasks:",  # sorted set: its tasks by their places, in the bands of their ends
        "batches": "batches",  # sorted set: all batches, by when they were made
        "batch_looks": "batch_looks",  # sorted set: batches that have not ended, by when to look at them
        "batches_ended": "batches_ended",  # sorted set: batches that have ended, by when
        # webhooks
        "webhooks": "webhooks",  # sorted set: webhooks that are not delivered yet, by when to try
        "webhook": "webhook:",  # hash: one of them
        "given_up": "given_up",  # list: webhooks that were given up, the last one first
        "receiver": "receiver:",  # sorted set: the webhooks for one receiver, by when to try
        "receivers": "receivers",  # sorted set: receivers with webhooks that wait, by when to look at them
        "receivers_prompt": "receivers_prompt",  # sorted set: the same for receivers that have answered promptly
        "receivers_turn": "receivers_turn",  # hash: receiver to its misses in a row, and when it has its turn
        "prompt": "prompt",  # sorted set: receivers that have answered promptly, by when
        # conversations
        "conversation": "conversation:",  # hash: its owner and its data
        "of_tasks": ":tasks",  # behind a conversation's key: sorted set of its tasks
        "conversations": "conversations",  # sorted set: all conversations
        "owned": "owned:",  # sorted set: the conversations of an owner
        "about": "about:",  # hash: data that an application keeps beside a task
        "abouts": "abouts",  # sorted set: tasks with something beside them
        "added": "added:",  # list: messages and artifacts added to a task
        "feedback": "feedback:",  # list: feedback on a task
        "noted": "noted",  # sorted set: tasks that are noted and not submitted
        "pushes": "pushes",  # hash: task to the notification settings of its client
        # the namespace
        "meta": "meta",  # hash: version, ledger and settings of the namespace
        "events": "events",  # stream: what happened
        "activity": "activity",  # stream: what operators have changed on the dashboard
        "web_sessions": "web_sessions",  # sorted set: browsers that are logged in to the dashboard, by when that ends
        "bulk_changes": "bulk_changes",  # sorted set: changes of many tasks, by when they began
        "bulk_change": "bulk_change:",  # hash: one of them
        "rollup": "rollup:",  # hash: the figures of a minute, by lane and handler
        "rollups": "rollups:",  # text: the figures of ten minutes, an hour or a day, packed
        "reporter": "reporter",  # text: the steward that reports the figures of the queue
        "errors": "errors",  # sorted set: kinds of errors, by their last failure
        "error": "error:",  # hash: the facts of a kind
        "errors_of": "errors_of:",  # sorted set: the kinds of a handler, by their last failure
        "error_tasks": "error_tasks:",  # sorted set: the tasks that last failed with a kind (see kinds_of_errors.lua)
        "counters": "counters",  # hash: how often each kind of event happened
        "unreadable": "unreadable",  # list: entries that were set aside, with the reason
        "asked": "asked",  # sorted set: kept setting to the last request carried out on it
        "answers": "answers",  # sorted set: the answers of those requests
    }
)


_TYPES = {
    "unreadable": "list",
    "events": "stream",
    **dict.fromkeys(("meta", "rules", "quiet"), "hash"),
    **dict.fromkeys(("workers", "due", "finished", "dead", "schedules"), "zset"),
}
_TYPES_OF_TASK = {"task": "hash", "messages": "hash", "op": "string", "checkpoint": "string"} | dict.fromkeys(
    ("history", "pending", "trail"), "list"
)

PACKED_NAMES = {TEN_MINUTES: "", HOUR: "hours:", DAY: "days:"}  # of packed rollups, before their number

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one namespace; all of them are in the Cluster slot of the plain queue name.

    In a Cluster, the keys of lanes must be in this slot, too. Scripts also name a second key that never exists. While a
    slot is moved key by key, the old node does not find the second key, and refuses a script before the script begins.
    Without the second key, a script would fail in the middle, at the first key that has moved. The new node refuses a
    script that comes before all its keys.
    """

    queue: str
    in_cluster: bool = False

    @property
    def declared(self) -> tuple[str | int, ...]:
        """The number of keys that every script is called with, and these keys."""
        return (2, self.queue, f"{self.prefix}nowhere") if self.in_cluster else (1, self.queue)

    @property
    def prefix(self) -> str:
        return f"{{{self.queue}}}:"

    def __getitem__(self, name: str) -> str:
        """A key by its name in KEY_NAMES: `keys["meta"]`, or `keys["task"] + task_id`."""
        return self.prefix + KEY_NAMES[name]

    def name(self, lane: str) -> str:
        """The name of a lane, in the one spelling that the store uses. A lane of the namespace may also be given by the
        key of its list."""
        if lane == self.queue:
            return lane
        name = lane.removeprefix(self["lane"])
        if self.in_cluster and ":" in name and name != self.queue:
            raise InvalidTaskError(
                f"a Cluster may keep lane {lane!r} on another node than queue {self.queue!r}; "
                f"in a Cluster give NAME without a colon, or {self['lane']}NAME"
            )
        return name

    def lane(self, lane: str) -> str:
        """The key of a lane's list. If `lane` is the queue's name or contains a colon, it is this key itself. Any other
        name is a lane of the namespace."""
        name = self.name(lane)
        return name if name == self.queue or ":" in name else self["lane"] + name

    def bell(self, lane: str) -> str:
        return self["bell"] + self.name(lane)

    def running(self, incarnation: str) -> str:
        return self["worker"] + incarnation + KEY_NAMES["of_running"]

    def inbox(self, incarnation: str) -> str:
        return self["worker"] + incarnation + KEY_NAMES["of_inbox"]

    def conversations(self, owner: str | None) -> str:
        """The key of the index of all conversations, or of one owner's conversations."""
        return self["conversations"] if owner is None else self["owned"] + owner

    def packed_rollup(self, length_ms: int, window: int) -> str:
        """The key of a packed rollup: the figures of ten minutes, an hour or a day. `window`: the number of this
        stretch of time, counted from 1970."""
        return f"{self['rollups']}{PACKED_NAMES[length_ms]}{window}"

    @property
    def types(self) -> dict[str, str]:
        """The keys that a namespace has exactly once, each with the type that it must have. Keys of lanes, tasks and
        workers are left out."""
        return {self.queue: "list"} | {self[name]: kind for name, kind in _TYPES.items()}

    def types_of(self, task_id: str) -> dict[str, str]:
        """The type of each key of one task."""
        return {self[name] + task_id: kind for name, kind in _TYPES_OF_TASK.items()}
