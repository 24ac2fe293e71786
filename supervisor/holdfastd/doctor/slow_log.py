"""The slow log of the Redis server: commands that held up everybody else, as a server runs one at a time."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import SlowInfo
from holdfast.core.words import counted
from holdfastd.doctor.finding import Check, Finding

SLOW_MS = 100.0
RECENT_MS = 3_600_000
MANY = 3  # fewer may be chance, such as a machine that had no processor left for a moment

_SLOW = Check("redis", "slow log")
_FIX = (
    "SLOWLOG GET in redis-cli shows who sent it; a command of Holdfast (EVALSHA) takes as long only on a busy machine: "
    "move other programs away from this server"
)


def judge(slow: SlowInfo) -> Iterator[Finding]:
    """Commands of the last hour; older ones say nothing about the server of now."""
    if slow.above_us is not None and not 0 <= slow.above_us <= SLOW_MS * 1000:
        text = f"it leaves out commands of {SLOW_MS:g} ms (slowlog-log-slower-than {slow.above_us})"
        yield _SLOW.note(text, "CONFIG SET slowlog-log-slower-than 10000")
        return
    recent = [each for each in slow.commands if slow.now_ms - each.at_ms <= RECENT_MS and each.took_ms > SLOW_MS]
    if not recent:
        yield _SLOW.ok(f"no command took more than {SLOW_MS:g} ms in the last hour")
        return
    longest = max(recent, key=lambda each: each.took_ms)
    text = f"{counted(len(recent), 'command')} took more than {SLOW_MS:g} ms in the last hour"
    level = _SLOW.warning if len(recent) >= MANY else _SLOW.note
    yield level(f"{text}; the longest, {longest.command}, {longest.took_ms:.0f} ms", _FIX)
