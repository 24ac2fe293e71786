"""Schedules declared in a file: what is to be made, changed and taken away so that the store has these and no others.

    owner = "billing"                       # else the name of the file

    [schedules.nightly]
    cron = "0 2 * * *"
    timezone = "Europe/Berlin"
    name = "billing.close_day"

Only what carries the owner's name is ever taken away.
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
    """Ids by what is to be done about them."""

    create: tuple[str, ...]
    change: tuple[str, ...]
    prune: tuple[str, ...]
    same: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        return not (self.create or self.change or self.prune)


def read_file(path: Path) -> Declared:
    """TOML, or JSON where the name ends so; InvalidScheduleError names the file and what is wrong there."""
    content = _content(path)
    if unknown := content.keys() - {"owner", "schedules"}:
        raise InvalidScheduleError(f"{path}: {sorted(unknown)[0]!r} is unknown; there are owner and [schedules.ID]")
    if "schedules" not in content:  # a file that was cut off, or is another's, would take all of its owner away
        raise InvalidScheduleError(f"{path}: no [schedules.ID]; that none are wanted says a table [schedules]")
    if not isinstance(content["schedules"], dict):
        raise InvalidScheduleError(f"{path}: wanted are tables [schedules.ID]")
    owner = content.get("owner", path.stem)
    if not isinstance(owner, str) or not owner:
        raise InvalidScheduleError(f"{path}: owner is {owner!r}, allowed: a text that is not empty")
    specs = cast("dict[str, Any]", content["schedules"])
    return Declared(owner, {name: _spec(path, name, one, owner) for name, one in specs.items()})


def _content(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
        told = json.loads(text, object_pairs_hook=_once) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidScheduleError(f"{path}: cannot be read: {reason}") from None
    if not isinstance(told, dict):
        raise InvalidScheduleError(f"{path}: wanted are tables [schedules.ID]")
    return cast("dict[str, Any]", told)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """TOML refuses a name that is there twice by itself."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _spec(path: Path, name: str, values: Any, owner: str) -> ScheduleSpec:
    if not isinstance(values, dict):
        raise InvalidScheduleError(f"{path}: schedules.{name} is no table")
    told = {"owner": owner, **cast("dict[str, Any]", values)}
    if told["owner"] != owner:
        raise InvalidScheduleError(
            f"{path}: schedules.{name}: owner is {told['owner']!r}, that of the file is {owner!r}"
        )
    try:
        return read_spec(told)
    except InvalidScheduleError as error:
        raise InvalidScheduleError(f"{path}: schedules.{name}: {error}") from None


async def stored(schedules: Schedules, declared: Declared) -> dict[str, ScheduleRecord]:
    """Those that are declared, and all others of the owner; whoever else has some is not looked at."""
    names = {*declared.specs, *await schedules.owned(declared.owner)}
    return {record.definition.schedule_id: record for record in await schedules.known(names)}


def difference(declared: Declared, found: dict[str, ScheduleRecord]) -> Difference:
    def is_same(name: str) -> bool:
        return msgspec.json.encode(declared.specs[name], order="sorted").decode() == found[name].definition.spec

    known = [name for name in declared.specs if name in found]
    return Difference(
        create=tuple(name for name in declared.specs if name not in found),
        change=tuple(name for name in known if not is_same(name)),
        prune=tuple(
            name
            for name, record in found.items()
            if record.definition.owner == declared.owner
            and not record.definition.declared  # by the code of an application of this name
            and name not in declared.specs
        ),
        same=tuple(name for name in known if is_same(name)),
    )
