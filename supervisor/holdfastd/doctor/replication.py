"""The replicas of the Redis server: one that lags has not got the last tasks, and a failover to it loses them."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import Replica, ServerInfo
from holdfast.core.words import counted
from holdfastd.doctor.finding import Check, Finding

SILENT_SECONDS = 10  # a replica confirms once a second
FAR_BEHIND = 16 << 20  # bytes
MEBIBYTE = 1 << 20

_LAG = Check("redis", "replication lag")
_FIX = "check the replica's load, disk and network; WAIT 1 1000 in redis-cli shows if one follows within a second"


def judge(server: ServerInfo) -> Iterator[Finding]:
    """Nothing for a server without replicas; their number is judged with its role."""
    late = [text for replica in server.followers if (text := _late(replica))]
    if late:
        yield _LAG.warning(f"{'; '.join(late)}: a failover to it loses what it has not got", _FIX)
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
