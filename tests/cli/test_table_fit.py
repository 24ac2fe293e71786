"""Tables fit the terminal: ids and texts are shortened at their end, then columns are left out in an order."""

from __future__ import annotations

import json
import re
import uuid

import pytest

from holdfastd.cli.common.tables import CUT, SHORTEST_ID, TableFit, fitted
from tests.cli.commands import Cli

FIT = TableFit(ids=("task",), texts=("reason",), drop=("turn", "lane", "reason"))
COLUMNS = ("task", "lane", "turn", "reason")
IDS = [f"{digit}{uuid.UUID(int=0)}"[:36] for digit in "123"]
ROWS = [(each, "bindu:tasks", "1", "the model was asked for too much at once") for each in IDS]
WHOLE = 36 + 11 + 4 + 40 + 3 * 2


@pytest.mark.parametrize(
    ("width", "columns", "widths"),
    [
        (WHOLE, COLUMNS, (36, 11, 1, 40)),
        (WHOLE - 1, COLUMNS, (36, 11, 1, 39)),
        (WHOLE - 30, COLUMNS, (30, 11, 1, 16)),
        (SHORTEST_ID + 11 + 4 + 16 + 6, COLUMNS, (9, 11, 1, 16)),
        (SHORTEST_ID + 11 + 4 + 16 + 5, ("task", "lane", "reason"), (14, 11, 16)),
        (SHORTEST_ID + 11 + 16 + 3, ("task", "reason"), (21, 16)),
        (SHORTEST_ID + 16 + 1, ("task",), (26,)),
        (1, ("task",), (9,)),
    ],
)
def test_what_is_shortened_and_what_is_left_out(width: int, columns: tuple[str, ...], widths: tuple[int, ...]) -> None:
    shown = fitted(COLUMNS, ROWS, FIT, width, 2)
    assert shown.columns == columns
    assert shown.dropped == tuple(name for name in FIT.drop if name not in columns)
    assert tuple(map(len, shown.rows[0])) == widths


@pytest.mark.parametrize("width", range(1, 100, 7))
def test_beginnings_of_different_ids_stay_different_and_are_what_the_ids_begin_with(width: int) -> None:
    ids = ["job", "job.r1", "job.r2", "order-000000000017", "order-000000000018"]
    shown = fitted(("task", "state"), [(each, "working") for each in ids], TableFit(("task",)), width, 2)
    firsts = [row[0] for row in shown.rows]
    assert len(set(firsts)) == len(ids)
    assert all(each.startswith(first.removesuffix(CUT)) for each, first in zip(ids, firsts, strict=True))


def test_letters_of_two_columns_are_counted_as_two() -> None:
    shown = fitted(("task", "reason"), [("1", "\u4e2d" * 30)], FIT, 30, 2)
    assert shown.rows[0] == ("1", "\u4e2d" * 11 + CUT)


def test_a_table_without_rows_fits() -> None:
    assert fitted(COLUMNS, [], FIT, 4, 2).columns == ("task",)


def test_a_column_without_content_goes_first() -> None:
    rows = [(task_id, "bindu:tasks", "1", "") for task_id, *_ in ROWS]
    assert fitted(COLUMNS, rows, FIT, 30, 2).dropped == ("reason",)


@pytest.mark.parametrize("no_color", [{}, {"NO_COLOR": "1"}])
def test_a_list_fits_the_terminal_and_its_beginnings_are_taken(cli: Cli, no_color: dict[str, str]) -> None:
    ids = [str(uuid.uuid4()) for _ in range(3)]
    lines = "\n".join(json.dumps({"task_id": each, "text": "x"}) for each in ids)
    assert cli("submit", "--jsonl", "-", stdin=lines.encode()).status == 0
    narrow = Cli(cli.folder, cli.options, {"COLUMNS": "40", **no_color})
    shown = narrow.on_terminal("tasks", "list").out
    table, _, note = re.sub(r"\x1b\[[\d;]*m", "", shown).partition(
        "supervisor: columns left out because the terminal is narrow: "
    )
    assert note.startswith("duration, reason, handler, wait, ")
    assert note.endswith("; --wide shows all\n")
    assert max(map(len, table.splitlines())) <= 40
    cut = [word for word in table.split() if word.endswith(CUT)]
    assert sorted(each for each in ids for word in cut if each.startswith(word.removesuffix(CUT))) == sorted(ids)
    assert narrow("tasks", "show", cut[0], "--json").document["task_id"] in ids
    assert all(each in narrow.on_terminal("tasks", "list", "--wide").out for each in ids)
    piped = narrow("tasks", "list").out
    assert all(each in piped for each in ids)
    assert "REASON" in piped
