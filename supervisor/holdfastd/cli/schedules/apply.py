"""`supervisor schedules diff` and `apply`: make the stored schedules of an owner equal to those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import rich_click

from holdfast.client.schedules import Schedules
from holdfast.errors import InvalidScheduleError
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.schedules.schedule_file import Declared, Difference, difference, read_file, stored

_file = click.argument("file", type=click.Path(path_type=Path))


@rich_click.command(epilog="Example: supervisor schedules diff schedules.toml")
@_file
@options.store
@options.pass_reading_session
def diff(session: Session, /, file: Path) -> int:
    """Show the changes that `apply` would make. Exit status 1 if there are any, 2 if the file is invalid."""
    declared = read_file(file)

    async def work(manager: Any) -> Difference:
        await _check(file, declared, manager.schedules)
        return difference(declared, await stored(manager.schedules, declared))

    changes = manage(session, work)
    _show_difference(session, changes)
    return 0 if changes.is_none else 1


@rich_click.command(epilog="Example: supervisor schedules apply schedules.toml")
@_file
@options.store
@options.pass_session
def apply(session: Session, /, file: Path) -> None:
    """Create, change and delete schedules so that the owner has exactly those of a file.

    All are checked before the first is written.
    """
    declared = read_file(file)

    async def work(manager: Any) -> Difference:
        schedules: Schedules = manager.schedules
        await _check(file, declared, schedules)
        changes = difference(declared, await stored(schedules, declared))
        await schedules.put_all({name: declared.specs[name] for name in (*changes.create, *changes.change)})
        for name in changes.prune:
            await schedules.remove(name)
        return changes

    _show_difference(session, manage(session, work))


async def _check(file: Path, declared: Declared, schedules: Schedules) -> None:
    try:
        await schedules.check_all(declared.specs)
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{file}: {error}") from None


def _show_difference(session: Session, changes: Difference) -> None:
    names_of = {"create": changes.create, "change": changes.change, "prune": changes.prune, "same": changes.same}
    if session.json:
        output.document({word: list(names) for word, names in names_of.items()})
        return
    for word, names in names_of.items():
        for name in names if word != "same" else ():
            output.text(f"{word:<7} {name}")
    if changes.is_none:
        output.text(f"no changes: {len(changes.same)} as declared")
