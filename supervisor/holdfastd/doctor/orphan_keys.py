"""Keys of a queue that belong to nothing: parts of a task or worker that is gone. They take memory for ever."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from holdfast.core.words import counted
from holdfast.store.redis.keys import KEY_NAMES
from holdfastd.doctor.finding import Check, Finding
from holdfastd.doctor.queue_snapshot import QueueSnapshot

SHOWN = 3
OF_TASKS = (
    "op",
    "history",
    "checkpoint",
    "pending",
    "left",
    "messages",
    "trail",
    "ties",
    "children",
    "retrying",
    "steps",
    "parents",
    "parts",
)

_CHECK = Check("queue", "orphan keys")
_KINDS = tuple(name for name in KEY_NAMES.values() if name.endswith((":", "@")) and not name.startswith(":"))
_SINGLE = frozenset(KEY_NAMES.values()) - frozenset(_KINDS)


def judge(snapshot: QueueSnapshot | str, prefix: str) -> Iterator[Finding]:
    """`prefix`: of the keys of this queue."""
    if isinstance(snapshot, str):
        return  # judged with the invariants
    owners = _owners(snapshot)
    orphans = [key for key in snapshot.keys if key not in snapshot.expiring and _is_orphan(key, owners)]
    unknown = [key for key in snapshot.keys if key not in _SINGLE and not key.startswith(_KINDS)]
    if orphans:
        text = f"{counted(len(orphans), 'key belongs', 'keys belong')} to nothing: {_named(orphans)}"
        yield _CHECK.warning(text, f"please report it; to free the memory: UNLINK '{prefix}{orphans[0]}' …")
    if unknown:
        text = f"{counted(len(unknown), 'key', 'keys')} unknown to this version: {_named(unknown)}"
        yield _CHECK.note(text, "a later version of Holdfast may have made them; else remove them")
    if not orphans and not unknown:
        yield _CHECK.ok(f"each of {counted(len(snapshot.keys), 'key')} belongs to something")


def _owners(snapshot: QueueSnapshot) -> Mapping[str, Collection[str]]:
    """Where the owner of a key of each kind is to be found; kinds that own themselves or expire are left out."""
    owners: dict[str, Collection[str]] = {
        kind: snapshot.keys.get(index, ()) for index, kinds in _INDEXED.items() for kind in kinds
    }
    tasks, workers = snapshot.tasks, snapshot.workers
    owners["outcome"] = {end for parents in dict(snapshot.of_kind("parents:")).values() for end in _ends(parents)}
    owners["given"] = dict(snapshot.of_kind("outcome:"))
    return owners | dict.fromkeys((*OF_TASKS, "result"), tasks) | dict.fromkeys(("worker", "control"), workers)


def _ends(parents: Mapping[str, str]) -> Iterator[str]:
    """The outcomes that a task has of its parents."""
    for parent, noted in parents.items():
        _, _, ended_ms = noted.partition(" ")
        yield f"{parent}:{ended_ms}"


_INDEXED: Mapping[str, tuple[str, ...]] = {  # index of the owners to the kinds of their keys
    "deaths": ("death",),
    "webhooks": ("webhook",),
    "batches": ("batch", "batch_tasks"),
    "schedules": ("schedule", "fires"),
    "handlers": ("names",),
    "catalog_digests": ("catalog",),
    "conversations": ("conversation",),
    "abouts": ("about", "added", "feedback"),
}


_CUT: Mapping[str, Callable[[str], str]] = {
    "result": lambda name: name.rpartition(":")[0],
    "worker": lambda name: name.partition(":")[0],
    "conversation": lambda name: name.removesuffix(":tasks"),
    "schedule": lambda name: name.removesuffix(":history"),
}


def _is_orphan(key: str, owners: Mapping[str, Collection[str]]) -> bool:
    kind, _, name = key.partition(":")
    if key in _SINGLE or kind not in owners:
        return False
    return not any(
        each in owners[kind] for each in (name, _CUT.get(kind, str)(name))
    )  # a schedule itself may be called `x:history`


def _named(keys: list[str]) -> str:
    return ", ".join(sorted(keys)[:SHOWN]) + (f" and {len(keys) - SHOWN} more" if len(keys) > SHOWN else "")
