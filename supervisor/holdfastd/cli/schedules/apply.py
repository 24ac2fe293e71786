"""`supervisor schedules diff` and `apply`: make the stored schedules of an owner equal to those of a file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click
import msgspec
import rich_click

from holdfast.client.schedule_definition import ScheduleSpec, read_spec
from holdfast.errors import InvalidScheduleError
from holdfast.exits import Exit
from holdfastd.cli.common import options
from holdfastd.cli.common.act_command import print_answer
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage, operate
from holdfastd.operations.schedules import APPLY_SCHEDULES, OwnedSchedules, ScheduleDifference, difference

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


def read_file(path: Path) -> OwnedSchedules:
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
    return OwnedSchedules(owner, {name: _spec(path, name, each, owner) for name, each in specs.items()})


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


_file = click.argument("file", type=click.Path(path_type=Path))


@rich_click.command(epilog="Example: supervisor schedules diff schedules.toml")
@_file
@options.store
@options.pass_reading_session
def diff(session: Session, /, file: Path) -> int:
    """Show the changes that `apply` would make. Exit status 1 if there are any, 2 if the file is invalid."""
    declared = read_file(file)
    with _named(file):
        changes = manage(session, lambda manager: difference(manager.schedules, declared))
    print_answer(session, changes, _words)
    return Exit.FAILED if _changed(changes) else Exit.OK


@rich_click.command(help=APPLY_SCHEDULES.help, epilog="Example: supervisor schedules apply schedules.toml")
@_file
@options.store
@options.pass_session
def apply(session: Session, /, file: Path) -> None:
    declared = read_file(file)
    with _named(file):
        changes = operate(session, APPLY_SCHEDULES, msgspec.structs.asdict(declared))
    print_answer(session, changes, _words)


@contextmanager
def _named(file: Path) -> Generator[None]:
    """Errors name the file."""
    try:
        yield
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{file}: {error}") from None


def _changed(changes: ScheduleDifference) -> list[tuple[str, str]]:
    """The change for each schedule that must change."""
    named = (("create", changes["create"]), ("change", changes["change"]), ("prune", changes["prune"]))
    return [(word, name) for word, names in named for name in names]


def _words(changes: ScheduleDifference) -> str:
    lines = [f"{word:<7} {name}" for word, name in _changed(changes)]
    return "\n".join(lines) or f"no changes: {len(changes['same'])} as declared"
