"""Draws the screen of `top`: as many columns and rows as fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.core.task_states import State
from holdfast.core.words import counted, duration
from holdfast_config.error_text import escape
from holdfastd.cli import shown_values
from holdfastd.cli.top.look import Look
from holdfastd.cli.top.panes import PANES, Column, Pane, PaneRow, course, rate_text
from holdfastd.cli.top.screen_state import HELP, Screen

GAP = 2  # characters between columns
WIDE = 200  # characters of a line that goes to no screen
WIDEST = 40  # characters of one cell while other columns need room
SHORTEST = 16  # characters to which a text is shortened before other columns go
SHORT_FOOTER = "1-6 pane  / filter  s sort  Enter why  ? all keys  q end"
FOOTER = "1-6 pane  / filter  s sort  Enter why  Q quiet  U resume  R retry  C cancel  ? help  q end"


class Told(NamedTuple):
    """Texts that the screen shows besides the panes. `why`: the history of the selected task. `notice`: the answer to
    the last order."""

    why: str = ""
    notice: str = ""


def drawn(screen: Screen, look: Look, rows: Sequence[PaneRow], width: int, height: int, told: Told) -> RenderableType:
    """The whole screen. `rows`: the rows of the pane that is open."""
    head = [*_summary(look, width), _panes(screen)]
    foot = [_footer(screen, told.notice, width)]
    room = max(1, height - len(head) - len(foot))
    if screen.shows_help or screen.shows_why:
        lines = (HELP if screen.shows_help else told.why).splitlines()
        body = [Text(part) for line in lines for part in wrap(escape(line), width, subsequent_indent=" " * 4)][:room]
    else:
        body = _table(PANES[screen.pane], rows, screen, width, room)
    blank = [Text("")] * (room - len(body))
    return Group(*(_cut(line, width) for line in (*head, *body, *blank, *foot)))


def aligned(pane: Pane, rows: Sequence[PaneRow], width: int) -> list[str]:
    """The header and all rows of a pane as plain lines, for `--once`."""
    screen = Screen(selected=-1)
    return [line.plain.rstrip() for line in _table(pane, rows, screen, width, len(rows) + 1)]


def summary(look: Look) -> list[str]:
    """The lines above the panes."""
    return [line.plain for line in _summary(look, WIDE)]


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    line.no_wrap = True
    return line


def _summary(look: Look, width: int) -> list[Text]:
    lines = [_supervisor_line(look), _tasks_line(look, width)]
    if look.trouble:
        lines.append(Text(f"store: {escape(look.trouble)}", "bold red"))
    return lines + [Text(escape(line), "yellow") for line in shown_values.lines(tuple(look.quiet), look.now_ms)]


def _supervisor_line(look: Look) -> Text:
    service = look.service
    if service is None and look.counts is None:
        return Text("asking the supervisor and the store")
    if service is None:
        return Text(f"{len(look.workers)} workers on all hosts; no supervisor answers on this host")
    line = Text(f"holdfast {escape(service.version)}  {escape(service.state)} for {duration(service.uptime)}  ")
    style = "" if service.ready >= service.target else "bold red"
    line.append(f"{service.ready}/{service.target} workers ready", style)
    hosts = len({worker.host for worker in look.workers})
    workers = f"{len(look.workers)} on {counted(hosts, 'host')}"
    line.append(f"  {workers}  {counted(service.deaths.total, 'death')}")
    for impaired in (service.degraded, service.breaker):
        if impaired:
            line.append(f"  {escape(impaired)}", "bold red")
    return line


def _tasks_line(look: Look, width: int) -> Text:
    """The line of tasks. If it is too wide, the bars of the oldest minutes are left out."""
    if look.counts is None:
        return Text("no answer from the store yet")
    states = look.counts.states
    waiting = sum(lane.waiting for lane in look.lanes.lanes) if look.lanes else 0
    line = Text(
        f"{states.get(State.WORKING, 0):,} running  {waiting:,} waiting  {states.get(State.DELAYED, 0):,} delayed  "
    )
    line.append(f"{look.counts.dead:,} dead", "red" if look.counts.dead else "")
    coming, leaving = (sum(rate[i] for rate in look.rates.values()) for i in (0, 1))
    line.append(f"  in {rate_text(coming)}/s  out {rate_text(leaving)}/s  ")
    bars = course(look)
    line.append(bars[max(0, min(len(bars) - 1, len(line) + len(bars) - width)) :], "green")
    return line


def _panes(screen: Screen) -> Text:
    line = Text()
    for number, name in enumerate(PANES, 1):
        line.append(f" {number} {name} ", "reverse bold" if name == screen.pane else "dim")
    if screen.filter:
        line.append(f"  rows with {escape(screen.filter)!r}", "yellow")
    if screen.is_paused:
        line.append("  not refreshed", "yellow")
    return line


def _footer(screen: Screen, notice: str, width: int) -> Text:
    if screen.typed is not None:
        return Text(f"show rows that contain: {escape(screen.typed)}_", "bold")
    if screen.asks is not None:
        return Text(f"{screen.asks}: sure? y or n", "bold yellow")
    if notice:
        return Text(escape(notice), "bold yellow")
    if screen.shows_why or screen.shows_help:
        return Text("any key: back", "dim")
    return Text(FOOTER if width >= len(FOOTER) else SHORT_FOOTER, "dim")


def _table(pane: Pane, rows: Sequence[PaneRow], screen: Screen, width: int, height: int) -> list[Text]:
    if not rows:
        return [Text(pane.empty, "dim")]
    first = max(0, min(screen.selected - height + 2, len(rows) - height + 1))
    visible = rows[first : first + height - 1]
    cells = [[escape(cell) for cell in row.cells] for row in visible]
    widths = _widths(pane.columns, cells, width)
    header = _line([column.title for column in pane.columns], pane.columns, widths)
    header.stylize("bold")
    lines = [header]
    for number, (row, texts) in enumerate(zip(visible, cells, strict=True), first):
        line = _line(texts, pane.columns, widths, dict(row.colours))
        if row.is_bad:
            line.stylize_before("red")
        if number == screen.selected:
            line.pad_right(max(0, width - len(line)))
            line.stylize("reverse")
        lines.append(line)
    return lines


def _line(
    cells: Sequence[str], columns: Sequence[Column], widths: Mapping[int, int], colours: Mapping[int, str] | None = None
) -> Text:
    parts: list[Text] = []
    for i, size in widths.items():
        cell = cells[i] if len(cells[i]) <= size else cells[i][: size - 1] + "…"
        parts.append(Text(cell.rjust(size) if columns[i].number else cell.ljust(size), (colours or {}).get(i, "")))
    return Text(" " * GAP).join(parts)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> dict[int, int]:
    """The widths of the columns that are shown. If they do not fit, long texts are shortened first. Then the least
    important columns are left out, empty ones before all others. The most important columns get the remaining room."""
    full = {
        i: max(len(column.title), *(len(row[i]) for row in cells))
        for i, column in enumerate(columns)
        if any(row[i] for row in cells)
    }
    shown = {i: size if columns[i].number else min(size, SHORTEST) for i, size in full.items()}
    while len(shown) > 1 and _length(shown) > width:
        del shown[min(shown, key=lambda i: columns[i].keeps)]
    for widest in (WIDEST, width):
        for i in sorted(shown, key=lambda i: -columns[i].keeps):
            wanted = min(full[i], widest) - shown[i]
            shown[i] += max(0, min(wanted, width - _length(shown)))
    return shown


def _length(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)
