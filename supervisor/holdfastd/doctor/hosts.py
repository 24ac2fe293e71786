"""The hosts of a queue beside each other: their clocks, and the versions of Holdfast on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.core.store_info import WorkerInfo
from holdfastd.doctor.finding import Check, Finding

APART_MS = 1000
SHOWN = 5

_CLOCKS = Check("hosts", "clocks")
_VERSIONS = Check("hosts", "versions")


def judge(members: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Judges the facts that stewards gave with the leases of these workers."""
    yield from _judge_clocks({each.host: each.clock_ahead_ms for each in members if each.clock_ahead_ms is not None})
    yield from _judge_versions(members)


def _judge_clocks(ahead: dict[str, int]) -> Iterator[Finding]:
    if not ahead:
        return
    first, last = min(ahead, key=ahead.__getitem__), max(ahead, key=ahead.__getitem__)
    apart = ahead[last] - ahead[first]
    if apart > APART_MS:
        text = f"the clock of {last} is {apart / 1000:.1f} s ahead of that of {first}"
        harm = "their logs and traces do not fit together, and dates that producers compute are wrong"
        yield _CLOCKS.warning(f"{text}: {harm}", "run NTP on both: timedatectl set-ntp true")
    else:
        yield _CLOCKS.ok(f"{', '.join(sorted(ahead)[:SHOWN])}: at most {apart} ms apart")


def _judge_versions(members: Sequence[WorkerInfo]) -> Iterator[Finding]:
    hosts: dict[str, set[str]] = {}
    for member in members:
        if member.version:
            hosts.setdefault(member.version, set()).add(member.host)
    if len(hosts) > 1:
        text = "; ".join(f"{version} on {_named(hosts[version])}" for version in sorted(hosts))
        fix = "this is allowed during an upgrade; end it by restarting the hosts with the earlier version"
        yield _VERSIONS.warning(text, fix)
    elif hosts:
        [(version, names)] = hosts.items()
        yield _VERSIONS.ok(f"{version} on {_named(names)}")


def _named(hosts: set[str]) -> str:
    more = f" and {len(hosts) - SHOWN} more" if len(hosts) > SHOWN else ""
    return ", ".join(sorted(hosts)[:SHOWN]) + more
