"""The rights of our Redis user: it must be allowed every command and script that a supervisor uses."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import AclInfo
from holdfastd.doctor.finding import Check, Finding

SHOWN = 5

_COMMANDS = Check("redis", "rights")
_SCRIPTS = Check("redis", "scripts")


def judge(rights: AclInfo, queue: str) -> Iterator[Finding]:
    """`queue` is the name of the public queue."""
    user = f"user {rights.user}" if rights.user else "this user"
    if rights.forbidden:
        more = f" and {len(rights.forbidden) - SHOWN} more" if len(rights.forbidden) > SHOWN else ""
        text = f"{user} may not run {', '.join(rights.forbidden[:SHOWN])}{more}"
        yield _COMMANDS.problem(text, acl_line(rights.user or "holdfast", queue))
    else:
        yield _COMMANDS.ok(f"{user} may run every command that is needed")
    if rights.scripts:
        yield _SCRIPTS.problem(rights.scripts, "use Redis 7.0 or later, or Valkey, and allow EVALSHA and SCRIPT LOAD")
    else:
        yield _SCRIPTS.ok("the server loads and runs our scripts, flags included")


def acl_line(user: str, queue: str) -> str:
    """The command that gives a user these rights, as in config/redis.conf."""
    keys = f"resetkeys resetchannels ~{queue} ~{{{queue}}}:* &{{{queue}}}:* &{{{queue}}}:done:*"
    return f"ACL SETUSER {user} {keys} +@all -@admin -@dangerous +info +config|get; further lanes need a ~pattern each"
