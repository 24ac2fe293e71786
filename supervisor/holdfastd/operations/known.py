"""Unknown names of lanes, handlers and hosts.

A change with a misspelt name, for example a pause of a lane that does not exist, would seem to have worked. So such a
change is refused. A filter with a misspelt name finds nothing, and its answer says so. A filter is not refused, because
tasks may have a name that nobody knows any more.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Protocol

from msgspec import Meta

from holdfast.core.plain_json import shown
from holdfast.store import Store
from holdfast_config import Settings
from holdfastd.operations.error_statuses import UnknownNameError
from holdfastd.operations.reading import similar

Create = Annotated[bool, Meta(description="Accept a name that nobody knows yet.")]
MOST = 3  # names that an error suggests


class NameFilter(Protocol):
    """A filter of tasks by the name of their handler, and perhaps by their lane."""

    @property
    def name(self) -> str | None: ...


def check_known(kind: str, name: str, known: Collection[str], create: str) -> None:
    """Check that the name is known. Raises UnknownNameError, which suggests similar names. `create`: how one asks for a
    new name, in the words of the operator's interface; empty if the act takes no new name."""
    if name in known:
        return
    new = f" (for a new {kind} {create})" if create else ""
    raise UnknownNameError(f"{kind} {shown(name)}: there is no such {kind}; {meant(name, known)}{new}")


def meant(name: str, known: Collection[str]) -> str:
    """A hint with similar known names: `did you mean mail?`"""
    found = similar(name, known, MOST)
    return f"did you mean {' or '.join(found)}?" if found else f"known: {', '.join(sorted(known)[:MOST]) or 'none'}"


async def unknown_names(store: Store, settings: Settings, wanted: NameFilter) -> str:
    """For a filter that has found nothing: a line that names its unknown lane or handler; empty if both are known."""
    name, lane = wanted.name, getattr(wanted, "lane", None)
    if name and name not in (known := await known_handlers(store)):
        return _unknown("handler", name, known)
    if lane and lane not in (known := await known_lanes(store, settings, lane)):
        return _unknown("lane", lane, known)
    return ""


def _unknown(kind: str, name: str, known: Collection[str]) -> str:
    near = meant(name, known)
    return f"no {kind} named {shown(name)} is known{':' if near.endswith('?') else ';'} {near}"


async def known_lanes(store: Store, settings: Settings, asked: str) -> set[str]:
    """The lanes of the settings, and all lanes that hold tasks, have limits or are paused. Also the lane `asked`, if
    workers serve it."""
    found = await store.lanes(settings.lane_names)
    (served,) = await store.service([(asked, "")])
    known = {each.name for each in found.lanes} | {settings.queue_name}
    return known | {asked} if served.in_lane else known


async def known_handlers(store: Store) -> set[str]:
    """The handlers that workers publish, and those with a limit."""
    limited = (await store.lanes(())).handlers
    return {*limited, *(each.name for each in await store.published_handlers())}
