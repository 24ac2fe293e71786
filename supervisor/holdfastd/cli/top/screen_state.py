"""The state of the screen of `top`, and the change that each key makes; no terminal, no store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

PANES = ("workers", "lanes", "handlers", "tasks", "deaths", "schedules")


class RowOrder(StrEnum):
    """An order of the operator; `top` asks for confirmation before it carries one out."""

    QUIET = "quiet"
    RESUME = "resume"
    RETRY = "retry"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Screen:
    """The state of the screen. `selected`: the row, from 0. `sort`: the column, None for the pane's own order. `typed`:
    the filter while the operator types it, else None. `asks`: the order that waits for y or n; `confirmed`: the order
    to carry out now. `shows_why`: the history of the selected task is open."""

    pane: str = PANES[0]
    selected: int = 0
    sort: int | None = None
    is_reversed: bool = False
    filter: str = ""
    typed: str | None = None
    asks: RowOrder | None = None
    confirmed: RowOrder | None = None
    shows_why: bool = False
    shows_help: bool = False
    is_paused: bool = False
    is_over: bool = False
    rows: int = 0
    columns: int = 0


def pressed(screen: Screen, key: str) -> Screen:
    """The state of the screen after this key was pressed."""
    if screen.typed is not None:
        return _typed(screen, screen.typed, key)
    if screen.asks is not None:
        return replace(screen, asks=None, confirmed=screen.asks if key == "y" else None)
    if screen.shows_why or screen.shows_help:
        return replace(screen, shows_why=False, shows_help=False, is_over=screen.is_over or key == "ctrl-c")
    change = KEYS.get(key)
    return change(screen) if change else screen


def show(pane: str) -> Callable[[Screen], Screen]:
    return lambda screen: replace(screen, pane=pane, selected=0, sort=None, is_reversed=False)


def _typed(screen: Screen, typed: str, key: str) -> Screen:
    match key:
        case "enter":
            return replace(screen, filter=typed, typed=None, selected=0)
        case "escape" | "ctrl-c":
            return replace(screen, typed=None)
        case "backspace":
            return replace(screen, typed=typed[:-1])
        case _ if len(key) == 1:
            return replace(screen, typed=typed + key)
        case _:
            return screen


def _move(by: int) -> Callable[[Screen], Screen]:
    return lambda screen: replace(screen, selected=max(0, min(screen.rows - 1, screen.selected + by)))


def _neighbour(by: int) -> Callable[[Screen], Screen]:
    return lambda screen: show(PANES[(PANES.index(screen.pane) + by) % len(PANES)])(screen)


def _sort(screen: Screen) -> Screen:
    """Sort by the next column; after the last column, by the pane's own order."""
    following = 0 if screen.sort is None else screen.sort + 1
    return replace(screen, sort=following if following < screen.columns else None, selected=0)


def _escape(screen: Screen) -> Screen:
    return replace(screen, filter="", selected=0)


def _ask(order: RowOrder) -> Callable[[Screen], Screen]:
    return lambda screen: replace(screen, asks=order)


def _end(screen: Screen) -> Screen:
    return replace(screen, is_over=True)


KEYS: dict[str, Callable[[Screen], Screen]] = {
    **{str(number): show(pane) for number, pane in enumerate(PANES, 1)},
    "tab": _neighbour(1),
    "right": _neighbour(1),
    "left": _neighbour(-1),
    "up": _move(-1),
    "k": _move(-1),
    "down": _move(1),
    "j": _move(1),
    "page up": _move(-10),
    "page down": _move(10),
    "s": _sort,
    "r": lambda screen: replace(screen, is_reversed=not screen.is_reversed),
    "/": lambda screen: replace(screen, typed=screen.filter),
    "escape": _escape,
    "enter": lambda screen: replace(screen, shows_why=True),
    "space": lambda screen: replace(screen, is_paused=not screen.is_paused),
    "?": lambda screen: replace(screen, shows_help=True),
    "Q": _ask(RowOrder.QUIET),
    "U": _ask(RowOrder.RESUME),
    "R": _ask(RowOrder.RETRY),
    "C": _ask(RowOrder.CANCEL),
    "q": _end,
    "ctrl-c": _end,
}

HELP = """\
1 to 6, Tab, arrows   another pane
up, down, j, k        select a row
Enter                 why: the history of the selected task
s, r                  sort by the next column, in the other direction
/, Esc                show only rows that contain a text; all rows
Space                 stop refreshing, go on
Q, U                  quiet the selected host; let it claim tasks again
R, C                  retry the selected dead letter; cancel the selected task
q                     end"""
