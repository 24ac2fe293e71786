"""Schedules declared in a file, and the changes that make the stored schedules of their owner equal to them.

    owner = "billing"                       # default: the name of the file

    [schedules.nightly]
    cron = "0 2 * * *"
    timezone = "Europe/Berlin"
    name = "billing.close_day"

Only schedules of this owner are ever deleted.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from holdfast.client.schedule_definition import read_spec
from holdfast.client.schedule_spec import ScheduleSpec
from holdfast.client.schedules import Schedules
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.errors import InvalidScheduleError


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
