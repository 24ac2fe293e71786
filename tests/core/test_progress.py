"""Progress as a record has it: what a handler gives is shown, bounded or left out, and a remark says so."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.core.progress import LARGEST, MOST_BYTES, Progress, line_of, line_of_value

ODD = [
    ((math.nan, 10), "", "done is no number"),
    ((3, math.nan), "3", "total is no number"),
    (("x", 10, "rows"), "rows", "done is no number"),
    ((-1, 10), "0/10", "done -1 is not from 0"),
    ((3, -10), "3", "total -10 is not from 0"),
    ((3, 0), "3", "total is 0"),
    ((11, 10), "10/10", "done 11 is more than total 10"),
    ((math.inf, 10), "10/10", "done inf is not from 0"),
    ((10**5000,), str(LARGEST), "done inf is not from 0"),
    ((1, 2, "é" * 100), "1/2 " + "é" * 28 + "…", "the text is too long"),
]


@pytest.mark.parametrize(
    ("given", "line", "read"),
    [
        ((3, 10, "importing"), "3/10 importing", Progress(3, 10, "importing")),
        ((3, 10), "3/10", Progress(3, 10)),
        ((3,), "3", Progress(3)),
        ((0.5, 1.0), "0.5/1", Progress(0.5, 1)),
        ((1 / 3, None, "of it"), "0.333 of it", Progress(0.333, None, "of it")),
        ((None, None, "warm\nup"), "warm up", Progress(text="warm up")),
    ],
)
def test_a_line_is_read_as_it_was_given(given: tuple[Any, ...], line: str, read: Progress) -> None:
    assert line_of(*given) == (line, "")
    assert Progress.read(line) == read


@pytest.mark.parametrize(("given", "line", "remark"), ODD)
def test_what_makes_no_sense_is_bounded_and_told(given: tuple[Any, ...], line: str, remark: str) -> None:
    shown, told = line_of(*given)
    assert shown == line
    assert remark in told
    assert len(shown.encode()) <= MOST_BYTES
    assert str(Progress.read(shown)) == shown


def test_values_of_generators_are_lines_too() -> None:
    assert [line_of_value(each)[0] for each in ("page 3", 7, {"a": 1}, 10**5000)] == ["page 3", "7", "{'a': 1}", "int"]
    assert Progress.read("3/4 cups") == Progress(3, 4, "cups")
    assert line_of_value("x" * 10_000)[1] != ""


@pytest.mark.parametrize("line", ["9/3", "3/0", "2026-11-27", "1e5", "-3", "3/", ""])
def test_other_texts_are_no_numbers(line: str) -> None:
    assert Progress.read(line) == Progress(text=line)


def test_the_share_is_for_a_bar() -> None:
    assert [Progress.read(line).share for line in ("1/4", "0/4", "4/4", "3", "text")] == [0.25, 0, 1, None, None]
