"""A figure is the median of quiet rounds, and says so if there were too few of them."""

from __future__ import annotations

from typing import Any

from bench.comparison import changes
from bench.figures import Figure, Section
from bench.tables import THROUGHPUT


def section(*rounds: dict[str, float], title: str = "holdfast") -> Section:
    return Section({"rounds": {"throughput": {title: list(rounds)}}, "failed": {}})


def rounds(*figures: tuple[float, float]) -> list[dict[str, float]]:
    """Pairs: the rate, and how many cores others used."""
    return [{"drain": rate, "others": others} for rate, others in figures]


def drain(*figures: tuple[float, float]) -> Figure | None:
    return section(*rounds(*figures)).figure("throughput", "holdfast", "drain")


def test_noisy_rounds_do_not_count_beside_three_quiet_ones() -> None:
    assert drain((10, 0.1), (1, 0.9), (30, 0.0), (20, 0.1), (2, 0.3)) == Figure(20)


def test_with_fewer_the_quietest_three_count_and_are_marked() -> None:
    assert drain((10, 0.1), (1, 0.9), (30, 0.3), (20, 0.1)) == Figure(20, noisy=True)


def test_a_measure_that_does_not_say_counts_as_quiet() -> None:
    assert section({"drain": 5.0}).figure("throughput", "holdfast", "drain") == Figure(5)


def test_a_figure_that_nobody_measured_is_none() -> None:
    assert drain() is None


def test_a_peer_is_compared_with_the_usual_bare_loop() -> None:
    by_title: dict[str, Any] = {
        "holdfast, 8 workers": [{"drain": 30.0}],
        "bare loop, 16 in flight": [{"drain": 100.0}],
        "bare loop, 16 in flight, 8 workers": [{"drain": 60.0}],
        "huey": [{"drain": 25.0}],
    }
    data = Section({"rounds": {"throughput": by_title}, "failed": {"throughput": {"rq": "no reply"}}})
    shown = {row[0]: row[2] for row in THROUGHPUT.rows(data)}
    assert (shown["holdfast, 8 workers"], shown["huey"]) == ("0.50", "0.25")
    assert "failed: no reply" in THROUGHPUT.markdown(data)


def test_a_change_of_ten_percent_is_marked_by_what_is_better() -> None:
    before = section({"drain": 100.0, "worker_us": 100.0, "server_us": 100.0, "singly": 100.0})
    after = section({"drain": 85.0, "worker_us": 85.0, "server_us": 105.0, "singly": 112.0})
    marks = {change.name.split()[-1]: change.mark for change in changes(before, after)}
    assert marks == {"drain": "WORSE", "worker_us": "better", "server_us": "", "singly": "better"}
