"""PostgreSQL, where it keeps the tasks: whether it can be used, and how the ledger in it stands."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.plurals import counted
from holdfast.core.store_info import DatabaseInfo, ReplicationInfo
from holdfast.errors import StoreError, StoreRefusedError
from holdfastd.doctor.finding import Check, Finding

BEHIND_MS = 10_000  # some 50 ms are usual
SHOWN = 5

_REACH = Check("postgresql", "connection")
_TABLES = Check("postgresql", "tables")
_RIGHTS = Check("postgresql", "rights")
_OWNER = Check("postgresql", "this Redis")
_LEDGER = Check("postgresql", "ledger")


def judge_silence(error: StoreError) -> Finding:
    """It lets nobody in, or is not there."""
    if isinstance(error, StoreRefusedError):
        return _REACH.problem(
            str(error), "see user, password and database of DATABASE_URL: psql DATABASE_URL -c 'SELECT 1'"
        )
    return _REACH.problem(str(error), "is it running, and is DATABASE_URL right? psql DATABASE_URL -c 'SELECT 1'")


def judge(facts: DatabaseInfo) -> Iterator[Finding]:
    if facts.standby:
        yield _REACH.problem(f"{facts.url} is a standby: it takes no writes", "name the primary in DATABASE_URL")
    else:
        yield _REACH.ok(f"{facts.url}, PostgreSQL {facts.server}")
    yield _judge_tables(facts)
    if facts.tables:
        yield _judge_rights(facts)


def _judge_tables(facts: DatabaseInfo) -> Finding:
    found = f"version {facts.tables}, this version of Holdfast needs {facts.needed}"
    if not facts.tables:
        return _TABLES.problem("there are none", "supervisor db upgrade")
    if facts.tables < facts.needed:
        return _TABLES.problem(found, "supervisor db upgrade")
    if facts.tables > facts.needed:
        return _TABLES.problem(found, "upgrade Holdfast on this host")
    return _TABLES.ok(f"version {facts.tables}")


def _judge_rights(facts: DatabaseInfo) -> Finding:
    if not facts.lacking:
        return _RIGHTS.ok(f"user {facts.user} may read and write every table")
    more = f" and {len(facts.lacking) - SHOWN} more" if len(facts.lacking) > SHOWN else ""
    found = f"user {facts.user} lacks {', '.join(facts.lacking[:SHOWN])}{more}"
    tables = ", ".join(sorted({one.rpartition(" ")[2] for one in facts.lacking}))
    return _RIGHTS.problem(found, f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {facts.user}")


def judge_following(facts: ReplicationInfo | StoreError) -> Iterator[Finding]:
    if isinstance(facts, StoreError):
        yield _LEDGER.note(f"cannot be compared with Redis: {facts}")
        return
    yield _judge_owner(facts)
    yield _judge_ledger(facts)


def _judge_owner(facts: ReplicationInfo) -> Finding:
    ledger, following = facts.ledger, facts.ledger.phase == "following"
    if not facts.epoch:
        return _OWNER.note(
            "this database has not kept the queue yet: that begins with the supervisor", "supervisor start"
        )
    if facts.followed and facts.followed != facts.epoch and following:
        fix = "is DATABASE_URL right? If this database is to take over: supervisor db adopt"
        return _OWNER.problem("another database keeps this queue", fix)
    if not facts.followed and following:
        found = "it does not know this ledger: it has lost its data, or is another one, and is rebuilt by a steward"
        return _OWNER.warning(found, "supervisor start, or supervisor status to see how far that is")
    losses = (
        f"; it has lost data {counted(ledger.losses, 'time')}, {counted(ledger.restored, 'task')} put back"
        if ledger.losses
        else ""
    )
    return _OWNER.ok(f"epoch {facts.epoch[:8]}{losses}")


def _judge_ledger(facts: ReplicationInfo) -> Finding:
    ledger = facts.ledger
    behind = f"{ledger.behind_ms / 1000:.1f} s behind Redis"
    waiting = f", {counted(ledger.waiting, 'request waits', 'requests wait')} for Redis" if ledger.waiting else ""
    if ledger.phase not in {"following", "not begun"}:
        return _LEDGER.warning(
            f"Redis is being rebuilt ({ledger.phase}){waiting}", "supervisor status, until it says `following`"
        )
    if ledger.behind_ms > BEHIND_MS:
        return _LEDGER.warning(
            f"{behind}{waiting}", "does a steward run (supervisor status), and is PostgreSQL fast enough?"
        )
    if ledger.waiting:
        return _LEDGER.note(
            f"{behind if ledger.behind_ms else 'up to date'}{waiting}", "a steward gives them: supervisor status"
        )
    return _LEDGER.ok(behind if ledger.behind_ms else "up to date")
