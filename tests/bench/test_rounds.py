"""Subjects take turns until each has enough quiet rounds."""

from __future__ import annotations

from collections.abc import Iterator

from bench.measures import Figures
from bench.rounds import Measured
from bench.site import Subject
from bench.systems import HOLDFAST

ONE, OTHER = (Subject(title, HOLDFAST, 2, "none") for title in ("one", "other"))


def measured(
    noise: dict[str, Iterator[float]], rounds: int, deadline: float = float("inf")
) -> tuple[Measured, list[str]]:
    turns: list[str] = []

    def measure(subject: Subject) -> Figures:
        turns.append(subject.title)
        return {"others": next(noise[subject.title])}

    result = Measured(deadline, patient=False)
    result.in_turn("noise", measure, (ONE, OTHER), rounds)
    return result, turns


def test_a_noisy_round_is_repeated_in_turn() -> None:
    _, turns = measured({"one": iter([0.0, 0.5, 0.0]), "other": iter([0.0, 0.0])}, 2)
    assert turns == ["one", "other", "one", "other", "one"]


def test_noise_without_end_ends_after_twice_as_many_rounds() -> None:
    result, _ = measured({"one": iter([0.9] * 9), "other": iter([0.0] * 9)}, 3)
    assert {title: len(of) for title, of in result.rounds["noise"].items()} == {"one": 6, "other": 3}


def test_past_the_deadline_each_has_one_round() -> None:
    result, turns = measured({"one": iter([0.0] * 9), "other": iter([0.0] * 9)}, 3, deadline=0.0)
    assert turns == ["one", "other"]
    assert result.failed == {}


def test_a_failure_stops_that_subject_alone() -> None:
    def measure(subject: Subject) -> Figures:
        if subject is ONE:
            raise TimeoutError("not within 1 s: it starts")
        return {}

    result = Measured(patient=False)
    result.in_turn("start", measure, (ONE, OTHER), 2)
    assert result.failed == {"start": {"one": "not within 1 s: it starts"}}
    assert len(result.rounds["start"]["other"]) == 2


def test_side_by_side_the_order_is_that_of_the_subjects() -> None:
    result = Measured(patient=False)
    result.side_by_side("rest", lambda _: {}, (ONE, OTHER))
    assert list(result.rounds["rest"]) == ["one", "other"]
