"""A process comes by its kill points; signals that it survives show when they strike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.os.kill_points import KillWatch
from holdfast_config.kill_spec import VARIABLE, KillPoint, Point

UNSET = "from holdfast.os import kill_points as k; assert k.reached is k._pass and not k.armed"


@pytest.fixture
def struck() -> Iterator[list[int]]:
    """Grows with each SIGUSR2."""
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: heard.append(number))
    yield heard
    signal.signal(signal.SIGUSR2, before)


def test_strikes_at_the_nth_time_alone(struck: list[int]) -> None:
    watch = KillWatch([KillPoint(Point.BELL, 2, signal.SIGUSR2)])
    counts: list[int] = []
    for point in (Point.BELL, Point.PULLED, Point.BELL, Point.BELL):
        watch.reached(point)
        counts.append(len(struck))
    assert counts == [0, 0, 1, 1]


def test_strikes_once_for_each_file_that_it_removes(struck: list[int], tmp_path: Path) -> None:
    order = tmp_path / "once"
    watch = KillWatch([KillPoint(Point.BELL, 2, signal.SIGUSR2, order)])
    order.touch()
    watch.reached(Point.BELL)
    assert (len(struck), order.exists()) == (0, True)
    watch.reached(Point.BELL)
    watch.reached(Point.BELL)
    assert (len(struck), order.exists()) == (1, False)
    order.touch()
    watch.reached(Point.BELL)
    assert len(struck) == 2


@pytest.mark.parametrize(("asked", "status"), [("bell", -signal.SIGKILL), ("", 0), ("pulled", 0)])
def test_the_environment_says_where(asked: str, status: int) -> None:
    program = "from holdfast.os.kill_points import Point, reached; reached(Point.BELL)"
    ended = subprocess.run([sys.executable, "-c", program], env={**os.environ, VARIABLE: asked}, check=False)
    assert ended.returncode == status


def test_unset_nothing_is_left_of_them() -> None:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    subprocess.run([sys.executable, "-c", UNSET], env=environment, check=True)
