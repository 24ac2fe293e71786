"""Judges the Redis server, without the queue in it: version, role, latency, clock, durability, memory, replicas, rights
and clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from holdfast.core.store_info import (
    AclInfo,
    ClientInfo,
    ForeignClient,
    MemoryInfo,
    PersistenceInfo,
    Replica,
    ServerInfo,
    SlowInfo,
    TimingInfo,
)
from holdfast.core.words import counted, some
from holdfastd.doctor.finding import Check, Finding

OLDEST_REDIS = (7, 0)
SLOW_MS = 10.0
STALLS_MS = 100.0
CLOCKS_APART_MS = 1000.0

_VERSION = Check("redis", "version")
_ROLE = Check("redis", "role")
_LATENCY = Check("redis", "latency")
_CLOCK = Check("redis", "clock")


def judge_server(server: ServerInfo) -> Iterator[Finding]:
    name = f"{server.engine.capitalize()} {server.version}"
    if server.engine == "redis" and _numbers(server.version) < OLDEST_REDIS:
        yield _VERSION.problem(f"{name}: script flags need 7.0", "use Redis 7.0 or later, or Valkey")
    else:
        yield _VERSION.ok(name)
    yield from _judge_role(server)


def _judge_role(server: ServerInfo) -> Iterator[Finding]:
    if server.mode == "sentinel":
        yield _ROLE.problem(
            "this is a Sentinel, which stores no data", "use redis+sentinel://host:port/NAME-OF-THE-MASTER"
        )
    elif server.role != "master":
        yield _ROLE.problem("this is a replica: it accepts no writes", "name the master, or use redis+sentinel://")
    elif server.mode == "cluster" and server.found_by != "cluster":
        text = "this is one node of a Cluster, and the queue's slot may move to another"
        yield _ROLE.problem(text, "use redis+cluster://host:port,host:port")
    elif server.found_by == "url":
        yield _ROLE.ok("a single master")
    else:
        yield from _judge_topology(server)


def _judge_topology(server: ServerInfo) -> Iterator[Finding]:
    how = "the master that Sentinel names" if server.found_by == "sentinel" else "the node with the queue's slot"
    text = f"{server.address}, {how}; replicas: {server.replicas}"
    if not server.replicas:
        yield _ROLE.warning(f"{text}: no server could replace it", "add two replicas")
    elif not server.careful:
        cut_off = "a master that is cut off keeps accepting tasks, and a failover loses them"
        yield _ROLE.warning(f"{text}; {cut_off}", "min-replicas-to-write 1 and min-replicas-max-lag 10 in redis.conf")
    else:
        yield _ROLE.ok(text)


def judge_timing(timing: TimingInfo) -> Iterator[Finding]:
    trips = sorted(timing.round_trips_ms)
    median, late = trips[len(trips) // 2], trips[max(0, round(len(trips) * 0.99) - 1)]
    text = f"a round trip takes {median:.2f} ms (p50 of {len(trips)}), {late:.2f} ms (p99)"
    fix = "check the server's load and SLOWLOG, and run the workers nearer to it"
    if median > SLOW_MS or late > STALLS_MS:
        yield _LATENCY.warning(text, fix)
    else:
        yield _LATENCY.ok(text)
    apart = f"the server's clock is {abs(timing.clock_ahead_ms) / 1000:.2f} s "
    apart += "ahead of this host's" if timing.clock_ahead_ms > 0 else "behind this host's"
    if abs(timing.clock_ahead_ms) > CLOCKS_APART_MS:
        yield _CLOCK.warning(
            f"{apart}: delayed and scheduled tasks run by the server's clock", "run NTP on both machines"
        )
    else:
        yield _CLOCK.ok(apart)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


# The durability of the Redis server: which data survives a restart, and what the server does if its memory is full.

NEARLY_FULL = 0.8
MEBIBYTE = 1 << 20

_EVICTION = Check("redis", "eviction")
_MEMORY = Check("redis", "memory")
_PERSISTENCE = Check("redis", "persistence")
_WRITES = Check("redis", "writes to disk")

_REPLAY = Check("redis", "user of the AOF")

_AOF = "CONFIG SET appendonly yes, and the same in redis.conf (CONFIG REWRITE)"


def judge_memory(memory: MemoryInfo) -> Iterator[Finding]:
    if memory.policy == "noeviction":
        yield _EVICTION.ok("noeviction")
    else:
        text = f"maxmemory-policy {memory.policy}: Redis would delete tasks to free memory, so `start` refuses it"
        yield _EVICTION.problem(text, "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf")
    yield _judge_used(memory)


def _judge_used(memory: MemoryInfo) -> Finding:
    used = f"{memory.used // MEBIBYTE} MiB used"
    if not memory.limit:
        return _MEMORY.ok(f"{used}, no maxmemory is set")
    share = memory.used / memory.limit
    text = f"{used} of {memory.limit // MEBIBYTE} MiB (maxmemory), {share:.0%}"
    fix = "raise maxmemory, keep ended tasks for a shorter time (--keep), or run more workers"
    if share >= 1:
        return _MEMORY.problem(f"{text}: submits are refused", fix)
    if share > NEARLY_FULL:
        return _MEMORY.warning(f"{text}: when it is full, submits are refused", fix)
    return _MEMORY.ok(text)


def judge_persistence(persistence: PersistenceInfo) -> Iterator[Finding]:
    if persistence.aof:
        yield _judge_fsync(persistence.fsync)
    elif persistence.save:
        text = f"only snapshots (save {persistence.save}): a crash loses all changes after the last one"
        yield _PERSISTENCE.warning(text, _AOF)
    elif persistence.save == "":
        yield _PERSISTENCE.warning("none: a restart of Redis loses everything", _AOF)
    else:
        text = "no AOF, and snapshots cannot be checked: a crash loses at least all changes after the last snapshot"
        yield _PERSISTENCE.warning(text, _AOF)
    yield from _judge_writes(persistence)


def _judge_fsync(fsync: str | None) -> Finding:
    match fsync:
        case None:
            return _PERSISTENCE.ok("AOF; appendfsync cannot be read")
        case "no":
            text = "AOF, flushed when the system decides (appendfsync no): a power cut loses up to 30 seconds"
            return _PERSISTENCE.warning(text, "CONFIG SET appendfsync everysec, and the same in redis.conf")
        case "always":
            return _PERSISTENCE.ok("AOF, flushed before each answer (appendfsync always)")
        case _:
            return _PERSISTENCE.ok(f"AOF (appendfsync {fsync}): a power cut loses a second or two")


def _judge_writes(persistence: PersistenceInfo) -> Iterator[Finding]:
    results = [
        (persistence.aof_write, "the last write of the AOF failed: until one succeeds, all writes are refused"),
        (persistence.snapshot, "the last snapshot failed: Redis may refuse all writes (stop-writes-on-bgsave-error)"),
        (persistence.aof_rewrite, "the last rewrite of the AOF failed: the file only grows"),
    ]
    fix = "read the server's log; usually its disk is full or it may not fork (vm.overcommit_memory=1)"
    for status, text in results:
        if status != "ok":
            yield _WRITES.problem(text, fix)
    if all(status == "ok" for status, _ in results):
        yield _WRITES.ok("the last AOF write, AOF rewrite and snapshot succeeded")


def judge_replay(persistence: PersistenceInfo, rights: AclInfo, engine: str) -> Iterator[Finding]:
    """Judge the rights of the user `default`, as whom Redis replays its AOF. Valkey replays it without such limits."""
    if engine == "redis" and persistence.aof and rights.replay:
        text = (
            f"user default lacks {' '.join(rights.replay)}: a restart replays the AOF as this user and drops all tasks"
        )
        fix = "ACL SETUSER default ~* &* +@all, and in redis.conf: user default off resetpass ~* &* +@all"
        yield _REPLAY.problem(text, fix)


# The memory of the Redis server on its machine: whether it is fragmented, or swapped out.

MUCH = 100 << 20  # bytes: below this size fragmentation does no harm; an empty server takes several times what it uses
FRAGMENTED = 1.5

_FRAGMENTATION = Check("redis", "fragmentation")


def judge_fragmentation(memory: MemoryInfo) -> Iterator[Finding]:
    if not memory.resident:
        return
    more = memory.resident - memory.used
    text = f"{memory.used // MEBIBYTE} MiB used take {memory.resident // MEBIBYTE} MiB of the machine"
    if more > MUCH and memory.resident > FRAGMENTED * memory.used:
        fix = "CONFIG SET activedefrag yes (MEMORY PURGE for once), or restart the server at a quiet hour"
        yield _FRAGMENTATION.warning(f"{text}, {memory.resident / memory.used:.1f} times as much", fix)
    elif -more > MUCH:
        fix = "lower maxmemory, give the machine more memory, or move other programs away"
        yield _FRAGMENTATION.warning(f"{text}: the rest is swapped out, and commands wait for the disk", fix)
    else:
        yield _FRAGMENTATION.ok(text)


# The replicas of the Redis server. A replica that lags does not have the last tasks, so a failover to it loses them.

SILENT_SECONDS = 10  # a replica that has confirmed nothing for this long is reported; it should confirm every second
FAR_BEHIND = 16 << 20  # a replica that is this many bytes behind is reported

_LAG = Check("redis", "replication lag")
_LAG_FIX = "check the replica's load, disk and network; WAIT 1 1000 in redis-cli shows if one follows within a second"


def judge_replicas(server: ServerInfo) -> Iterator[Finding]:
    """Judge the replicas. There are no findings for a server without replicas: `judge_server` judges their number."""
    late = [text for replica in server.followers if (text := _late(replica))]
    if late:
        yield _LAG.warning(f"{'; '.join(late)}: a failover to it would lose the writes that it lacks", _LAG_FIX)
    elif server.followers:
        most = max(replica.behind for replica in server.followers)
        yield _LAG.ok(f"{counted(len(server.followers), 'replica')}, at most {most} bytes behind")


def _late(replica: Replica) -> str:
    if replica.state != "online":
        return f"{replica.address} is not in step yet ({replica.state})"
    if replica.silent_seconds > SILENT_SECONDS:
        return f"{replica.address} has confirmed nothing for {replica.silent_seconds} s"
    if replica.behind > FAR_BEHIND:
        return f"{replica.address} is {replica.behind // MEBIBYTE} MiB behind"
    return ""


# The rights of the Redis user of these settings. It must be allowed every command and script that a supervisor uses.

RIGHTS_SHOWN = 5

_COMMANDS = Check("redis", "rights")
_SCRIPTS = Check("redis", "scripts")


def judge_rights(rights: AclInfo, queue: str) -> Iterator[Finding]:
    """Judge the rights of the Redis user. `queue`: the name of the public queue."""
    user = f"user {rights.user}" if rights.user else "this user"
    if rights.forbidden:
        text = f"{user} may not run {some(rights.forbidden, RIGHTS_SHOWN)}"
        yield _COMMANDS.problem(text, acl_line(rights.user or "holdfast", queue))
    else:
        yield _COMMANDS.ok(f"{user} may run every command that is needed")
    if rights.scripts:
        yield _SCRIPTS.problem(rights.scripts, "use Redis 7.0 or later, or Valkey, and allow EVALSHA and SCRIPT LOAD")
    else:
        yield _SCRIPTS.ok("the server loads and runs Holdfast's scripts, with their flags")


def acl_line(user: str, queue: str) -> str:
    """The Redis command that gives a user the rights that Holdfast needs; the same as in config/redis.conf."""
    keys = f"resetkeys resetchannels ~{queue} ~{{{queue}}}:* &{{{queue}}}:* &{{{queue}}}:done:*"
    return f"ACL SETUSER {user} {keys} +@all -@admin -@dangerous +info +config|get; further lanes need a ~pattern each"


# The slow log of the Redis server. A server runs one command at a time, so a slow command delays all clients.

SLOW_COMMAND_MS = 100.0
RECENT_MS = 3_600_000
MANY = 3  # fewer slow commands may be chance, for example because the machine was busy for a moment

_SLOW = Check("redis", "slow log")
_SLOW_FIX = (
    "SLOWLOG GET in redis-cli shows who sent it; Holdfast's commands (EVALSHA) are slow only on a busy machine: "
    "move other programs away from this server"
)


def judge_slow_log(slow: SlowInfo) -> Iterator[Finding]:
    """Judge the slow commands of the last hour. Older slow commands say nothing about the present state of the
    server."""
    if slow.above_us is not None and not 0 <= slow.above_us <= SLOW_COMMAND_MS * 1000:
        text = f"the slow log leaves out commands of {SLOW_COMMAND_MS:g} ms (slowlog-log-slower-than {slow.above_us})"
        yield _SLOW.note(text, "CONFIG SET slowlog-log-slower-than 10000")
        return
    recent = [
        each for each in slow.commands if slow.now_ms - each.at_ms <= RECENT_MS and each.took_ms > SLOW_COMMAND_MS
    ]
    if not recent:
        yield _SLOW.ok(f"no command took more than {SLOW_COMMAND_MS:g} ms in the last hour")
        return
    longest = max(recent, key=lambda each: each.took_ms)
    text = f"{counted(len(recent), 'command')} took more than {SLOW_COMMAND_MS:g} ms in the last hour"
    level = _SLOW.warning if len(recent) >= MANY else _SLOW.note
    yield level(f"{text}; the longest, {longest.command}, {longest.took_ms:.0f} ms", _SLOW_FIX)


# The clients of the Redis server: whether there is room for Holdfast's connections, and whether other programs take
# entries from its lists.

SHORT_TIMEOUT = 60  # seconds: a shorter timeout for idle connections is a warning
CLIENTS_SHOWN = 3

_CONNECTIONS = Check("redis", "connections")
_REFUSED = Check("redis", "refused connections")
_IDLE = Check("redis", "idle connections")
_CONSUMERS = Check("queue", "other consumers")


def judge_clients(clients: ClientInfo, wanted: int, *, running: bool, local: bool) -> Iterator[Finding]:
    """Judge the connections. `wanted`: the most connections that Holdfast opens. `running`: a supervisor runs already,
    so its connections are among the open ones. `local`: the server is reached without a network."""
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
        text = (
            f"the server closes connections after {clients.idle_timeout} s without use (timeout); Holdfast reconnects"
        )
        yield level(text, "CONFIG SET timeout 0")
    if clients.keepalive == 0 and not local:
        text = "the server does not detect clients whose machine is gone (tcp-keepalive 0)"
        yield _IDLE.warning(text, "CONFIG SET tcp-keepalive 60, and the same in redis.conf")


def judge_strangers(strangers: Sequence[ForeignClient] | None, stolen: int, missing: int) -> Iterator[Finding]:
    """Judge other programs that pop from lists. `strangers`: these clients; None if CLIENT LIST is not allowed.

    `stolen`: how many entries of tasks have disappeared so far and were put back. `missing`: how many are missing now;
    some may be found at the next look. Entries that only other programs have pushed are not known, so their loss cannot
    be detected.
    """
    evidence = _evidence(stolen, missing)
    if strangers:
        shown = ", ".join(map(_named, strangers[:CLIENTS_SHOWN])) + (", …" if len(strangers) > CLIENTS_SHOWN else "")
        kinds = ("client that is not Holdfast's pops", "clients that are not Holdfast's pop")
        text = f"{counted(len(strangers), *kinds)} from lists of this database: {shown}" + (
            f"; {evidence}" if evidence else ""
        )
        fix = "if they pop from this queue, stop them (CLIENT KILL ID) or give them a list of their own"
        yield _CONSUMERS.warning(text, fix)
    elif evidence:
        fix = "find the program that pops from the queue (ACL LOG, or MONITOR for a moment); give it its own list"
        yield _CONSUMERS.note(evidence, fix)
    elif strangers is None:
        text = "this Redis user may not list other clients (CLIENT LIST); no entry has disappeared so far"
        yield _CONSUMERS.note(text, "ACL SETUSER … +client|list, or run this command with a Redis user that may")
    else:
        yield _CONSUMERS.ok("no other consumer is connected, and no entry has disappeared")


def _evidence(stolen: int, missing: int) -> str:
    kinds = ("entry that had disappeared was", "entries that had disappeared were")
    parts = [f"{counted(stolen, *kinds)} put back so far"] if stolen else []
    parts += [f"{missing} are missing now"] if missing else []
    return "; ".join(parts)


def _named(stranger: ForeignClient) -> str:
    name = f"{stranger.name} at " if stranger.name else ""
    return f"{name}{stranger.address} ({stranger.command}, idle for {stranger.idle_seconds} s)"
