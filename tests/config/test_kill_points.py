"""Kill points are parsed from the environment."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from holdfast_config import ConfigError, load
from holdfast_config.kill_spec import VARIABLE, KillPoint, Point, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (" ", ()),
        ("bell", (KillPoint(Point.BELL),)),
        ("pulled:3", (KillPoint(Point.PULLED, 3),)),
        ("drain:1:STOP", (KillPoint(Point.DRAIN, 1, signal.SIGSTOP),)),
        ("drain:1:SIGTERM", (KillPoint(Point.DRAIN, 1, signal.SIGTERM),)),
        ("settled@/run/once", (KillPoint(Point.SETTLED, order=Path("/run/once")),)),
        (
            "recovered:2:TERM@/run/a:b, forked:2",
            (KillPoint(Point.RECOVERED, 2, signal.SIGTERM, Path("/run/a:b")), KillPoint(Point.FORKED, 2)),
        ),
    ],
)
def test_kill_points_are_spelled(text: str, expected: tuple[KillPoint, ...]) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lunch", r"'lunch': no such point; there are fork, bell, .*restored"),
        ("bell:0", r"'bell:0': must be point\[:n\[:signal\]\]\[@/file\]"),
        ("bell:x", "'bell:x': must be"),
        ("bell:1:NOW", "'bell:1:NOW': no such signal; KILL, TERM and STOP are examples"),
        ("bell@once", "'bell@once': must be"),
        ("bell,", "'': must be"),
    ],
)
def test_one_that_cannot_be_understood_is_refused_with_the_settings(text: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"{VARIABLE}: {expected}"):
        load({}, environ={VARIABLE: text})


def test_only_the_environment_names_kill_points(tmp_path: Path) -> None:
    load({}, environ={VARIABLE: "bell"}, folder=tmp_path)
    (tmp_path / ".env").write_text(f"{VARIABLE}=bell\n")
    with pytest.raises(ConfigError, match=VARIABLE):
        load({}, environ={}, folder=tmp_path)
