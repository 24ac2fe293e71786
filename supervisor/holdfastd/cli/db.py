"""`supervisor db`: creates and checks the tables in PostgreSQL, and shows how far their copy of the queue (the ledger)
is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar, cast

import anyio

from holdfast.exits import Exit
from holdfast.store.ledger import PostgresStore, migrate
from holdfast.store.ledger.database import Database
from holdfastd.cli import shown_values
from holdfastd.cli.common import CommandError, Session, options, output, parameters
from holdfastd.cli.common.store_session import TERMINAL_RETRIES, ask
from holdfastd.cli.common.work_progress import WorkProgress

T = TypeVar("T")


@options.group(epilog="Examples:\n\nsupervisor db upgrade\n\nsupervisor db status --json")
def db() -> None:
    """Create and check the tables in PostgreSQL."""


@db.command(epilog="Example: DATABASE_URL=postgresql://me@db/tasks supervisor db upgrade")
@options.here
@options.pass_session
def upgrade(session: Session, /) -> int:
    """Create the tables, or migrate them to this version. You may repeat the command, or run it on several hosts at
    once.

    `supervisor start` never does this: the user of the service need not have the right to change tables, and other
    hosts may still run the earlier version.
    """
    with WorkProgress("step", "done") as progress:
        done = _with_database(session, lambda database: migrate.upgrade(database, progress.show))
    document = {"version": migrate.newest(), "steps": [each.name for each in done]}
    unchanged = "" if done else ", unchanged"
    lines = [f"{each.version:04} {each.name}" for each in done]
    session.answer(document, *lines, f"version {migrate.newest()}{unchanged}")
    return Exit.OK


@db.command(epilog="Example: supervisor db status")
@options.changing
def status(session: Session, /) -> int:
    """Show the version of the tables, and how far the copy in PostgreSQL is behind Redis.

    The exit status is 1 if the tables need an upgrade.
    """
    version = _with_database(session, migrate.version)
    standing = shown_values.read(session) if version == migrate.newest() else None
    if standing:
        then = shown_values.ledger_summary(standing)
    else:
        then = output.as_called(
            "run: supervisor db upgrade" if version < migrate.newest() else "upgrade Holdfast on this host"
        )
    document = {"version": version, "needed": migrate.newest()} | ({"ledger": asdict(standing)} if standing else {})
    needed = f"this version of Holdfast needs {migrate.newest()}"
    session.answer(document, f"the tables have version {version}; {needed}", then)
    return Exit.OK if version == migrate.newest() else Exit.FAILED


@db.command(epilog="Example: supervisor db adopt --yes")
@parameters.yes_option
@options.changing
def adopt(session: Session, /, yes: bool) -> int:
    """Keep the copy of a queue in this database from now on, in place of another database.

    The steward then treats Redis as if it had lost data: it puts back the tasks that this database has and Redis does
    not.
    """
    name = session.settings.queue_name
    parameters.confirm(
        f"Make this database the ledger of {name}?", "tasks that only this database has will run", yes=yes
    )
    _needs_database(session)
    ask(session, lambda store: cast("PostgresStore", store).disown())
    output.text(
        f"this database is now the ledger of {name}; the next steward with this database puts its tasks into Redis"
    )
    return Exit.OK


def _with_database(session: Session, work: Callable[[Database], Awaitable[T]]) -> T:
    settings = _needs_database(session)

    async def inside() -> T:
        database = Database(settings)
        try:
            return await TERMINAL_RETRIES.call(work, database)
        finally:
            await database.aclose()

    return anyio.run(inside, backend_options={"use_uvloop": True})


def _needs_database(session: Session) -> Any:
    if session.settings.postgres is None:
        raise CommandError("PostgreSQL is not configured: set STORAGE_TYPE=postgres and DATABASE_URL", Exit.CONFIG)
    return session.settings.postgres
