"""Rollups: what is stored is read again, and rollups of several minutes are added up."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.rollup import (
    OTHER,
    PACKED,
    PACKED_BYTES,
    Example,
    Figures,
    Histogram,
    Rollup,
    Series,
    bucketed,
    field_of,
    fields_of,
    packed,
    read_field,
    rollup_of,
    sum_of,
    unpacked,
)

NAMES = st.text(min_size=0, max_size=12)
SAMPLES = st.lists(st.floats(1e-5, 1e4), max_size=20)


@st.composite
def figures(draw: st.DrawFn) -> Figures:
    made = Figures()
    for outcome in draw(st.lists(st.sampled_from(["completed", "failed", "retry"]), min_size=1, unique=True)):
        samples = draw(SAMPLES)
        made.outcomes[outcome] = len(samples) + draw(st.integers(1, 3))
        made.runs[outcome] = Histogram()
        made.runs[outcome].add(round(1e6 * sum(samples)), bucketed(samples))
    made.sizes["operation"] = draw(st.integers(1, 10**12))
    made.wait.add(draw(st.integers(0, 10**9)), bucketed(draw(SAMPLES)))
    made.recovery.add(draw(st.integers(0, 10**9)), bucketed(draw(SAMPLES)))
    return made


ROLLUPS = st.dictionaries(st.builds(Series, NAMES, NAMES), figures(), max_size=3)


def stored(rollup: Rollup) -> Rollup:
    return rollup_of((name.encode(errors="replace"), value) for name, value in fields_of(rollup).items())


@given(st.builds(Series, NAMES, NAMES))
def test_lane_and_handler_are_read_from_a_field_whatever_their_names_hold(series: Series) -> None:
    name = f"completed {len(series.lane.encode(errors='replace'))} {series.lane}{series.handler}"
    figure, found = read_field(name.encode(errors="replace"))
    assert figure == "completed"
    assert "".join(found) == "".join(series).encode(errors="replace").decode()


def counts(rollup: Rollup) -> dict[Series, tuple[dict[str, int], dict[str, int], dict[int, int], int]]:
    return {
        series: (
            dict(each.outcomes),
            dict(each.sizes),
            dict(each.run.buckets + each.recovery.buckets),
            each.lost_samples,
        )
        for series, each in rollup.items()
    }


@given(ROLLUPS)
def test_what_is_stored_is_read_again(rollup: Rollup) -> None:
    plain = {series: each for series, each in rollup.items() if "".join(series).isascii()}
    assert counts(stored(plain)) == counts(plain)


@given(ROLLUPS, ROLLUPS)
def test_the_figures_of_two_minutes_are_added(first: Rollup, second: Rollup) -> None:
    total = sum_of([first, second])
    assert set(total) == set(first) | set(second)
    for series, figures in total.items():
        parts = [rollup[series] for rollup in (first, second) if series in rollup]
        assert figures.outcomes.total() == sum(part.outcomes.total() for part in parts)
        assert figures.wait.micros == sum(part.wait.micros for part in parts)


def test_run_times_that_died_with_their_worker_are_counted() -> None:
    figures = Figures()
    figures.take("completed", b"5")
    figures.take("run:completed", b"10 1 3")
    assert figures.run.count == 3
    assert figures.lost_samples == 2


def test_a_field_that_is_none_is_passed_over() -> None:
    assert rollup_of([(b"nonsense", b"1"), (b"completed x y", b"1"), (b"run:completed 1 ab", b"one")]).keys() <= {
        Series("a", "b")
    }


def test_a_figure_of_another_version_is_passed_over() -> None:
    """A version without recoveries reads them as a count, which they are not; so do we with what comes later."""
    fields = [(b"completed 1 lh", b"3"), (b"novel 1 lh", b"12 4 1 5 2"), (b"recovery 1 lh", b"2000 4 1")]
    [found] = rollup_of(fields).values()
    assert (dict(found.outcomes), found.recovery) == ({"completed": 3}, Histogram(2000, Counter({4: 1})))


OLD, NEW = (Example(7, 3, at_ms, "ab" * 16, "cd" * 8) for at_ms in (1000, 2000))


@pytest.mark.parametrize("examples", [(OLD, NEW), (NEW, OLD)])
def test_of_two_examples_of_an_outcome_the_newest_is_kept(examples: tuple[Example, ...]) -> None:
    series = Series("l", "h")
    name = field_of("example:completed", series).encode()
    rollups = [rollup_of([(name, each.spelled())]) for each in examples]
    assert sum_of(rollups)[series].examples == {"completed": NEW}
    assert not fields_of(sum_of(rollups)), "it is of the moment"


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"1 2 3", b"a 2 3 " + b"ab" * 16 + b" " + b"cd" * 8),
        *(
            b"1 2 3 ab cd",
            b"1 2 3 " + b"xy" * 16 + b" " + b"cd" * 8,
            b"1 2 3 " + b"-1" * 16 + b" " + b"cd" * 8,
            b"\xff",
        ),
    ],
)
def test_an_example_that_is_none_is_passed_over(text: bytes) -> None:
    name = field_of("example:completed", Series("l", "h")).encode()
    assert [figures.examples for figures in rollup_of([(name, text)]).values()] in ([], [{}])


def a_stretch_of(handlers: int, runs: int) -> Rollup:
    """So many runs of each handler, and more of those with a low number. Their times differ by two powers of ten."""
    chance, rollup = random.Random(17), Rollup()
    for number in range(handlers):
        seconds = [10 ** chance.uniform(-2, 0) for _ in range(min(runs, 500))]
        times = Histogram(round(1e6 * sum(seconds)), bucketed(seconds))
        outcomes = Counter({"completed": runs + handlers - number, "retry": 3})
        short = Histogram(3, bucketed(seconds[:3]))
        figures = Figures(outcomes, Counter(operation=900 * runs), times, {"completed": times, "retry": short})
        rollup[Series("default", f"shop.reports.render_{number:03}")] = figures
    return rollup


@pytest.mark.parametrize("length", PACKED)
def test_each_length_has_room_for_sixty_busy_handlers(length: int) -> None:
    stretch = a_stretch_of(60, runs=length // 1000)
    text = packed(stretch, PACKED_BYTES[length])
    assert len(text) <= PACKED_BYTES[length]
    assert counts(unpacked(text)) == counts(stretch)


@pytest.mark.parametrize("length", PACKED)
def test_as_few_series_as_possible_are_counted_for_others(length: int) -> None:
    stretch = a_stretch_of(500, runs=length // 1000)
    text = packed(stretch, PACKED_BYTES[length])
    found = unpacked(text)
    kept = [*stretch][: len(found) - 1]
    assert set(found) == {*kept, Series("", OTHER)}, "the busiest are kept"
    assert found[Series("", OTHER)].outcomes.total() == sum(
        figures.outcomes.total() for series, figures in stretch.items() if series not in kept
    )
    assert 0.9 * PACKED_BYTES[length] < len(text) <= PACKED_BYTES[length]


def test_one_series_that_is_too_long_is_kept() -> None:
    stretch = a_stretch_of(1, runs=500)
    assert counts(unpacked(packed(stretch, 10))) == counts(stretch)
