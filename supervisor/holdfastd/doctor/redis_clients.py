"""The clients of the Redis server: room for our connections, and other programs that take entries from lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.core.store_info import ClientInfo, ForeignClient
from holdfast.core.words import counted
from holdfastd.doctor.finding import Check, Finding

SHORT_TIMEOUT = 60  # seconds
SHOWN = 3

_CONNECTIONS = Check("redis", "connections")
_REFUSED = Check("redis", "refused connections")
_IDLE = Check("redis", "idle connections")
_CONSUMERS = Check("queue", "other consumers")


def judge(clients: ClientInfo, wanted: int, *, running: bool, local: bool) -> Iterator[Finding]:
    """`wanted`: the most connections that we open; with a `running` supervisor they are among those already open."""
    yield from _judge_room(clients, wanted, running=running)
    yield from _judge_idle(clients, local=local)


def _judge_room(clients: ClientInfo, wanted: int, *, running: bool) -> Iterator[Finding]:
    free = clients.most - clients.connected + (wanted if running else 0)
    text = f"{clients.connected} of {clients.most} connections (maxclients) are in use; Holdfast opens up to {wanted}"
    if clients.most and free < wanted:
        yield _CONNECTIONS.warning(
            text, "raise maxclients (CONFIG SET maxclients), or lower --redis-max-connections or --workers"
        )
    else:
        yield _CONNECTIONS.ok(text)
    if clients.refused:
        refused = f"the server has refused {counted(clients.refused, 'connection')} since its start: too many were open"
        yield _REFUSED.warning(refused, "raise maxclients (CONFIG SET maxclients), and its limit of open files")


def _judge_idle(clients: ClientInfo, *, local: bool) -> Iterator[Finding]:
    if clients.idle_timeout:
        level = _IDLE.warning if clients.idle_timeout < SHORT_TIMEOUT else _IDLE.note
        text = f"the server closes connections after {clients.idle_timeout} s without use (timeout); ours reconnect"
        yield level(text, "CONFIG SET timeout 0")
    if clients.keepalive == 0 and not local:
        text = "the server does not detect clients whose machine is gone (tcp-keepalive 0)"
        yield _IDLE.warning(text, "CONFIG SET tcp-keepalive 60, and the same in redis.conf")


def judge_strangers(strangers: Sequence[ForeignClient] | None, stolen: int, missing: int) -> Iterator[Finding]:
    """Judges other programs that pop from lists. `strangers` is None where CLIENT LIST is not allowed.

    `stolen`: our entries that disappeared and were put back, ever; `missing`: those that are gone at this moment,
    which the next look may find again. Entries that other producers pushed disappear without a trace.
    """
    evidence = _evidence(stolen, missing)
    if strangers:
        shown = ", ".join(map(_named, strangers[:SHOWN])) + (", …" if len(strangers) > SHOWN else "")
        kinds = ("client of this database that is not ours pops", "clients of this database that are not ours pop")
        text = f"{counted(len(strangers), *kinds)} from lists: {shown}" + (f"; {evidence}" if evidence else "")
        fix = "if they pop from this queue, stop them (CLIENT KILL ID) or give them a list of their own"
        yield _CONSUMERS.warning(text, fix)
    elif evidence:
        fix = "find the program that pops from the queue (ACL LOG, or MONITOR for a moment); give it its own list"
        yield _CONSUMERS.note(evidence, fix)
    elif strangers is None:
        text = "this user may not list other clients (CLIENT LIST); no entry has disappeared so far"
        yield _CONSUMERS.note(text, "ACL SETUSER … +client|list, or run this as a user who may")
    else:
        yield _CONSUMERS.ok("none is connected, and no entry has disappeared")


def _evidence(stolen: int, missing: int) -> str:
    kinds = ("entry that had disappeared was", "entries that had disappeared were")
    parts = [f"{counted(stolen, *kinds)} put back so far"] if stolen else []
    parts += [f"{missing} are missing now"] if missing else []
    return "; ".join(parts)


def _named(stranger: ForeignClient) -> str:
    name = f"{stranger.name} at " if stranger.name else ""
    return f"{name}{stranger.address} ({stranger.command}, idle for {stranger.idle_seconds} s)"
