"""The Redis server itself: its version and role, its latency, and its clock."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator

from holdfast.core.store_info import ServerInfo, TimingInfo
from holdfastd.doctor.finding import Check, Finding

OLDEST_REDIS = (7, 0)
SLOW_MS = 10.0
STALLS_MS = 100.0
CLOCKS_APART_MS = 1000.0

_VERSION = Check("redis", "version")
_ROLE = Check("redis", "role")
_LATENCY = Check("redis", "latency")
_CLOCK = Check("redis", "clock")


def judge(server: ServerInfo) -> Iterator[Finding]:
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
    median, late = statistics.median(trips), trips[max(0, round(len(trips) * 0.99) - 1)]
    text = f"a round trip takes {median:.2f} ms (p50 of {len(trips)}), {late:.2f} ms (p99)"
    fix = "check the server's load and SLOWLOG, and run the workers nearer to it"
    if median > SLOW_MS or late > STALLS_MS:
        yield _LATENCY.warning(text, fix)
    else:
        yield _LATENCY.ok(text)
    apart = f"the server's clock is {abs(timing.clock_ahead_ms) / 1000:.2f} s "
    apart += "ahead of ours" if timing.clock_ahead_ms > 0 else "behind ours"
    if abs(timing.clock_ahead_ms) > CLOCKS_APART_MS:
        yield _CLOCK.warning(
            f"{apart}: delayed and scheduled tasks run by the server's clock", "run NTP on both machines"
        )
    else:
        yield _CLOCK.ok(apart)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
