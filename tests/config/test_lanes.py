"""Lanes are parsed from texts, lists and tables; invalid ones are errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast_config.lanes import Lane, Rate, lanes
from tests.config.conftest import Load, Problems

RATE = "a rate must be a number and a time, as in 10/s, 100/m, 5/h or 20/10s"
TIMEOUT = "a timeout must be seconds, or a duration such as 90s, 5m, 1h30m or 7d, from 0.001 s to ten years"
TWO = (Lane("bindu:tasks:high", 6), Lane("bindu:tasks", 3))


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("bindu:tasks:high=6,bindu:tasks=3", TWO),
        (" bindu:tasks:high = 6 , bindu:tasks=3", TWO),
        (["bindu:tasks:high=6", "bindu:tasks=3"], TWO),
        ({"bindu:tasks:high": 6, "bindu:tasks": {"weight": 3}}, TWO),
        ("A:A:B", (Lane("A", 2), Lane("B"))),
        ("A:B:A:A", (Lane("A", 3), Lane("B"))),
        ("A:B", (Lane("A:B"),)),
        ("a=6;rate=100/m;limit=20,b", (Lane("a", 6, Rate(100, 60_000, 1), 20), Lane("b"))),
        ("a;rate=100/s;burst=7;keys=2", (Lane("a", 1, Rate(100, 1000, 7), None, 2),)),
        ("a;timeout=1m30s,b", (Lane("a", timeout=90.0), Lane("b"))),
        ({"a": {"timeout": 0.5}}, (Lane("a", timeout=0.5),)),
        ({"a": {"rate": "20/10s", "limit": 5}}, (Lane("a", 1, Rate(20, 10_000, 1), 5),)),
        ("a;end=tail,b;end=HEAD", (Lane("a", end="tail"), Lane("b"))),
        ({"a": {"end": "tail"}}, (Lane("a", end="tail"),)),
        ("a,b=2", (Lane("a"), Lane("b", 2))),
        ("bindu:tasks:high", (Lane("bindu:tasks:high"),)),
        ("{bindu:tasks}:lane:high=2", (Lane("{bindu:tasks}:lane:high", 2),)),
    ],
)
def test_a_spelling_of_lanes(given: object, parsed: tuple[Lane, ...]) -> None:
    assert lanes(given) == parsed


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("a=0", "a weight must be a whole number from 1 to 1000, not '0'"),
        ("a=-1", "a weight must be a whole number from 1 to 1000, not '-1'"),
        ("a=1001", "a weight must be a whole number from 1 to 1000, not '1001'"),
        ("a=1.5", "a weight must be a whole number from 1 to 1000, not '1.5'"),
        ("a=", "a weight must be a whole number from 1 to 1000, not ''"),
        ("a=2,b,a=3", "names a lane twice"),
        ("a;limit=0", "a limit must be a whole number from 1 to 1000000, not '0'"),
        ("a;rate=0/m", f"{RATE}, not '0/m'"),
        ("a;rate=100", f"{RATE}, not '100'"),
        ("a;rate=5/x", f"{RATE}, not '5/x'"),
        ("a;burst=5", "a burst needs a rate"),
        *(
            (f"a;rate=1/s;{name}={text}", f"a {name} must be a whole number from 1 to 1000000, not {text!r}")
            for name in ("burst", "limit", "keys")
            for text in ("0", "2.5", "1000001", "many", "")
        ),
        ("a;limit=1;limit=2", "gives the limit of lane a twice"),
        ("a;speed=1", "the options of a lane are weight, rate, burst, limit, keys, timeout and end, not 'speed'"),
        ("a;timeout=0", f"{TIMEOUT}, not '0'"),
        ("a;timeout=soon", f"{TIMEOUT}, not 'soon'"),
        ("a;timeout=", f"{TIMEOUT}, not ''"),
        ("a;end=middle", "the end of a lane must be head or tail, not 'middle'"),
        ("=3", "must be 1 to 128 printable characters without spaces and braces"),
        ("{a}:lane:b:c", "the NAME in {queue}:lane:NAME must not contain a colon"),
        ("{a}:due", "must be 1 to 128 printable characters without spaces and braces"),
        ("A::B:", "must be 1 to 128 printable characters without spaces and braces"),
    ],
)
def test_a_spelling_that_is_refused(problems: Problems, value: str, allowed: str) -> None:
    assert problems({"HOLDFAST_LANES": value}) == (f"HOLDFAST_LANES: {value!r}: {allowed}",)


def test_a_table_of_a_file_gives_lanes_in_its_order(read: Load, tmp_path: Path) -> None:
    (tmp_path / "supervisor.toml").write_text('[lanes]\n"bindu:tasks:high" = 6\n[lanes."bindu:tasks"]\nweight = 3\n')
    assert read().lanes == TWO
    assert read().weights == (6, 3)


@pytest.mark.parametrize("name", ["weight", "burst", "limit", "keys"])
@pytest.mark.parametrize("value", ["2.5", "2.0", "true", '"x"', "[2]"])
def test_a_number_of_a_file_that_is_not_whole_is_refused(
    problems: Problems, tmp_path: Path, name: str, value: str
) -> None:
    (tmp_path / "supervisor.toml").write_text(f'[lanes.a]\nrate = "1/s"\n{name} = {value}\n')
    (said,) = problems()
    assert f"a {name} must be a whole number from 1 to 1000" in said


def test_an_unknown_option_of_a_lane_is_named(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "supervisor.toml").write_text("[lanes.a]\nwieght = 2\n")
    assert problems()[0].endswith("not 'wieght'")


def test_strict_order_has_no_weights(read: Load) -> None:
    settings = read(lanes="a=6,b=3", strict=True)
    assert (settings.lane_names, settings.weights) == (("a", "b"), ())


def test_handlers_have_rates_by_name(read: Load) -> None:
    rates = read(handler_rates="mail.send=100/m,other=5/s").handler_rates
    assert rates == (("mail.send", Rate(100, 60_000, 1)), ("other", Rate(5, 1000, 1)))


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("mail", "must be the names of handlers with their rates: name=100/m,other=5/s"),
        ("mail=fast", f"{RATE}, not 'fast'"),
        ("a=1/s,a=2/s", "names a handler twice"),
    ],
)
def test_rates_of_handlers_that_are_refused(problems: Problems, value: str, allowed: str) -> None:
    assert problems({"HOLDFAST_HANDLER_RATES": value}) == (f"HOLDFAST_HANDLER_RATES: {value!r}: {allowed}",)


def test_lanes_are_shown_as_they_are_written() -> None:
    assert ",".join(map(str, TWO)) == "bindu:tasks:high=6,bindu:tasks=3"
    assert str(Lane("a", timeout=90.0)) == "a=1;timeout=90"


def test_the_timeout_of_a_lane_counts_before_that_of_all_tasks(read: Load) -> None:
    settings = read(lanes="{bindu:tasks}:lane:quick;timeout=5s,bindu:tasks", task_timeout=60)
    assert settings.timeout_of("quick") == settings.timeout_of("{bindu:tasks}:lane:quick") == 5.0
    assert settings.timeout_of("bindu:tasks") == settings.timeout_of("elsewhere") == 60.0
