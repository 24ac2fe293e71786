"""The clients of the store: room for ours, and others that take from lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.core.plurals import counted
from holdfast.core.store_info import ClientInfo, ForeignClient
from holdfastd.doctor.finding import Check, Finding

SHORT_TIMEOUT = 60  # seconds
SHOWN = 3

_ROOM = Check("redis", "connections")
_IDLE = Check("redis", "idle connections")
_TAKERS = Check("queue", "other consumers")


def judge(clients: ClientInfo, wanted: int, *, running: bool, local: bool) -> Iterator[Finding]:
    """`wanted` connections at most; those of a supervisor that is `running` are among the connected ones."""
    yield from _judge_room(clients, wanted, running=running)
    yield from _judge_idle(clients, local=local)


def _judge_room(clients: ClientInfo, wanted: int, *, running: bool) -> Iterator[Finding]:
    free = clients.most - clients.connected + (wanted if running else 0)
    found = f"{clients.connected} of {clients.most} (maxclients) are taken; we open {wanted} at most"
    if clients.most and free < wanted:
        yield _ROOM.warning(found, "CONFIG SET maxclients higher, or lower --redis-max-connections or --workers")
    else:
        yield _ROOM.ok(found)


def _judge_idle(clients: ClientInfo, *, local: bool) -> Iterator[Finding]:
    if clients.idle_timeout:
        level = _IDLE.warning if clients.idle_timeout < SHORT_TIMEOUT else _IDLE.note
        found = f"the server closes connections that are idle for {clients.idle_timeout} s (timeout); ours reconnect"
        yield level(found, "CONFIG SET timeout 0")
    if clients.keepalive == 0 and not local:
        found = "the server does not notice clients whose machine is gone (tcp-keepalive 0)"
        yield _IDLE.warning(found, "CONFIG SET tcp-keepalive 60, and the same in redis.conf")


def judge_strangers(strangers: Sequence[ForeignClient] | None, stolen: int, missing: int) -> Iterator[Finding]:
    """`stolen`: own entries that vanished and were put back, since ever; `missing`: those that are missed now.

    A client that pops our list takes entries out of every promise, and foreign entries that it takes leave no trace.
    An entry that is missed at one look may be there at the next.
    """
    evidence = (
        f"; {counted(stolen, 'entry that vanished was', 'entries that vanished were')} put back so far"
        if stolen
        else ""
    )
    evidence += f"; {missing} are missed now" if missing else ""
    if strangers:
        shown = ", ".join(map(_named, strangers[:SHOWN])) + (", …" if len(strangers) > SHOWN else "")
        kinds = ("client of this database that is not ours takes", "clients of this database that are not ours take")
        found = f"{counted(len(strangers), *kinds)} from lists: {shown}{evidence}"
        fix = "if their list is this queue, stop them (CLIENT KILL ID), or give them another list"
        yield _TAKERS.warning(found, fix)
    elif evidence:
        fix = "find who takes from the queue (ACL LOG, MONITOR for a moment), and give it a list of its own"
        yield _TAKERS.note(evidence.removeprefix("; "), fix)
    elif strangers is None:
        found = "this user may not see other clients (CLIENT LIST); no entry has vanished so far"
        yield _TAKERS.note(found, "ACL SETUSER … +client|list, or ask as another user")
    else:
        yield _TAKERS.ok("none is seen, and no entry has vanished")


def _named(stranger: ForeignClient) -> str:
    name = f"{stranger.name} at " if stranger.name else ""
    return f"{name}{stranger.address} ({stranger.command}, for {stranger.idle_seconds} s)"
