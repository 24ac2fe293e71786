"""`supervisor schedules diff` and `apply`: make the stored schedules of an owner equal to those of a file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
import msgspec
import rich_click

from holdfast.client.schedule_definition import ScheduleSpec, read_spec
from holdfast.client.schedules import Schedules
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.errors import InvalidScheduleError
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage

# Schedules declared in a file, and the changes that make the stored schedules of their owner equal to them.
#
#     owner = "billing"                       # default: the name of the file
#
#     [schedules.nightly]
#     cron = "0 2 * * *"
#     timezone = "Europe/Berlin"
#     name = "billing.close_day"
#
# Only schedules of this owner are ever deleted.


@dataclass(frozen=True, slots=True)
class Declared:
    owner: str
    specs: dict[str, ScheduleSpec]


@dataclass(frozen=True, slots=True)
class Difference:
    """The ids of the schedules to create, change and delete, and of those that are equal."""

    create: tuple[str, ...]
    change: tuple[str, ...]
    prune: tuple[str, ...]
    same: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        return not (self.create or self.change or self.prune)


def read_file(path: Path) -> Declared:
    """Reads TOML, or JSON if the name ends in .json. Raises InvalidScheduleError with the file and the error in it."""
    content = _content(path)
    if unknown := content.keys() - {"owner", "schedules"}:
        raise InvalidScheduleError(
            f"{path}: the key {sorted(unknown)[0]!r} is unknown; allowed are owner and [schedules.ID]"
        )
    if "schedules" not in content:  # a truncated or wrong file would delete all schedules of the owner
        raise InvalidScheduleError(
            f"{path}: no [schedules.ID]; to delete all schedules of the owner, write an empty table [schedules]"
        )
    if not isinstance(content["schedules"], dict):
        raise InvalidScheduleError(f"{path}: schedules must be tables [schedules.ID]")
    owner = content.get("owner", path.stem)
    if not isinstance(owner, str) or not owner:
        raise InvalidScheduleError(f"{path}: owner is {owner!r}; it must be a text that is not empty")
    specs = cast("dict[str, Any]", content["schedules"])
    return Declared(owner, {name: _spec(path, name, each, owner) for name, each in specs.items()})


def _content(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
        parsed = json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidScheduleError(f"{path}: cannot be read: {reason}") from None
    if not isinstance(parsed, dict):
        raise InvalidScheduleError(f"{path}: schedules must be tables [schedules.ID]")
    return cast("dict[str, Any]", parsed)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses a duplicate name, as TOML does itself."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} appears twice")
    return members


def _spec(path: Path, name: str, values: Any, owner: str) -> ScheduleSpec:
    if not isinstance(values, dict):
        raise InvalidScheduleError(f"{path}: schedules.{name} must be a table")
    fields = {"owner": owner, **cast("dict[str, Any]", values)}
    if fields["owner"] != owner:
        raise InvalidScheduleError(
            f"{path}: schedules.{name}: its owner is {fields['owner']!r}, but that of the file is {owner!r}"
        )
    try:
        return read_spec(fields)
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{path}: schedules.{name}: {error}") from None


async def stored(schedules: Schedules, declared: Declared) -> dict[str, ScheduleRecord]:
    """The stored schedules that are declared, and all others of the owner."""
    names = {*declared.specs, *await schedules.owned(declared.owner)}
    return {record.definition.schedule_id: record for record in await schedules.known(names)}


def difference(declared: Declared, records: dict[str, ScheduleRecord]) -> Difference:
    def is_same(name: str) -> bool:
        return msgspec.json.encode(declared.specs[name], order="sorted").decode() == records[name].definition.spec

    known = [name for name in declared.specs if name in records]
    return Difference(
        create=tuple(name for name in declared.specs if name not in records),
        change=tuple(name for name in known if not is_same(name)),
        prune=tuple(
            name
            for name, record in records.items()
            if record.definition.owner == declared.owner
            and not record.definition.declared  # by the code of an application of this name
            and name not in declared.specs
        ),
        same=tuple(name for name in known if is_same(name)),
    )


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
