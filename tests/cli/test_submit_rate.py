"""The rate that `submit` prints from time to time where standard error is no terminal."""

from __future__ import annotations

from holdfastd.cli.common.work_progress import PERIOD
from holdfastd.cli.submit.submit_windows import SubmitRate, Tally


def test_a_line_is_given_once_in_each_period() -> None:
    now, tally = 100.0, Tally()
    rate = SubmitRate(tally, lambda: now)
    lines = list[str]()
    for second in range(int(PERIOD * 2.5)):
        now, tally.accepted = 100.0 + second, second * 500
        lines.append(rate.line())
    assert [(at, line) for at, line in enumerate(lines) if line] == [
        (10, "5000 tasks accepted, 500 a second"),
        (20, "10000 tasks accepted, 500 a second"),
    ]


def test_the_rate_of_a_moment_is_a_number() -> None:
    assert SubmitRate(Tally(accepted=1), lambda: 5.0).text() == "1 task accepted, 1000 a second"
