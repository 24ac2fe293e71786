"""Whether the store lets our user do what a supervisor needs to do."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.store_info import AclInfo
from holdfastd.doctor.finding import Check, Finding

SHOWN = 5

_COMMANDS = Check("redis", "rights")
_SCRIPTS = Check("redis", "scripts")


def judge(rights: AclInfo, queue: str) -> Iterator[Finding]:
    """`queue` is the name of the plain queue."""
    who = f"user {rights.user}" if rights.user else "this user"
    if rights.forbidden:
        more = f" and {len(rights.forbidden) - SHOWN} more" if len(rights.forbidden) > SHOWN else ""
        found = f"{who} may not run {', '.join(rights.forbidden[:SHOWN])}{more}"
        yield _COMMANDS.problem(found, acl_line(rights.user or "holdfast", queue))
    else:
        yield _COMMANDS.ok(f"{who} may run every command that is needed")
    if rights.scripts:
        yield _SCRIPTS.problem(rights.scripts, "use Redis 7.0 or later, or Valkey, and allow EVALSHA and SCRIPT LOAD")
    else:
        yield _SCRIPTS.ok("the server compiles and runs ours, flags included")


def acl_line(user: str, queue: str) -> str:
    """What makes such a user, as config/redis.conf has it."""
    keys = f"resetkeys resetchannels ~{queue} ~{{{queue}}}:* &{{{queue}}}:* &{{{queue}}}:done:*"
    return f"ACL SETUSER {user} {keys} +@all -@admin -@dangerous +info +config|get; further lanes need a ~pattern each"
