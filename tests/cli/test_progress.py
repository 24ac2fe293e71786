"""The progress of commands that may take longer than a second."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfastd.cli.common.work_progress import PERIOD, WorkRate
from tests.cli.commands import Cli
from tests.cli.stores import give_up
from tests.servers import valkey


def test_count_rate_and_time_left_are_told_once_in_each_period() -> None:
    now = 100.0
    rate, lines = WorkRate("task", "cleared", 2000, lambda: now), list[str]()
    for second in range(int(PERIOD * 2.5)):
        now = 100.0 + second
        lines.append(rate.line(second * 50))
    assert [(at, line) for at, line in enumerate(lines) if line] == [
        (10, "500 of 2000 tasks cleared, 50 a second, 30.0s left"),
        (20, "1000 of 2000 tasks cleared, 50 a second, 20.0s left"),
    ]


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (0, 5, "0 of 5 tasks cleared, 0 a second"),
        (1, None, "1 task cleared, 0.1 a second"),
        (5000, None, "5000 tasks cleared, 500 a second"),
        (9, 5, "9 of 5 tasks cleared, 0.9 a second"),
        (0, 0, "0 of 0 tasks cleared, 0 a second"),
    ],
)
def test_a_rate_is_a_number_whatever_is_done(done: int, total: int | None, text: str) -> None:
    now = 100.0
    rate = WorkRate("task", "cleared", total, lambda: now)
    now = 110.0
    assert rate.text(done) == text


def test_the_rate_of_a_moment_is_a_number() -> None:
    assert WorkRate("task", "accepted", clock=lambda: 5.0).text(1) == "1 task accepted, 1000 a second"


def test_more_than_was_estimated_is_no_more_than_the_total() -> None:
    now = 0.0
    rate = WorkRate("key", "read", 5, lambda: now, is_estimate=True)
    now = 1.0
    assert rate.text(4) == "4 of about 5 keys read, 4.0 a second, 0.2s left"
    assert rate.text(9) == "9 of about 9 keys read, 9.0 a second"


def shown(cli: Cli, *words: str) -> str:
    answer = cli.on_terminal(*words)
    assert answer.status == 0, answer.out
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", answer.out)


def test_clearing_and_cleaning_show_their_progress_on_a_terminal(cli: Cli) -> None:
    cli("submit", "a", "b", "c")
    assert "3 of 3 tasks cleared, " in shown(cli, "queue", "clear", "--yes")
    give_up(cli, "d", "e")
    assert re.search(r"5 of 5 tasks removed, [0-9.]+ a second", shown(cli, "tasks", "clean", "--yes"))


def test_the_deletion_of_a_queue_shows_how_many_keys_it_has_about(short_path: Path) -> None:
    with valkey(short_path) as url:  # of its own: a small queue among many keys of others is in no sample of them
        cli = Cli(short_path, ("--redis-url", url, "--queue-name", "small"))
        give_up(cli, "a", "b")
        assert re.search(r"[0-9]+ of about [0-9]+ keys deleted, .* left", shown(cli, "queue", "obliterate", "--yes"))


def test_the_total_of_a_cleaning_is_known_where_only_states_choose(
    inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfastd.cli.common.work_progress.PERIOD", 0.0)
    give_up(inside, "a", "b", "c", "d")
    clean = ("tasks", "clean", "--yes", "--state", "failed")
    assert "1 task removed, " in inside(*clean, "--older", "0.001s", "--limit", "1").err.replace("1 of ", "")
    assert "2 of 2 tasks removed, " in inside(*clean, "--limit", "2").err
    assert "1 of 1 task removed, " in inside(*clean, "--limit", "9").err


def test_a_recovery_shows_how_much_it_has_read(cli: Cli) -> None:
    cli("submit", "a")
    assert re.search(r"[0-9]+ of about [0-9]+ keys read, ", shown(cli, "recover"))


def test_clearing_delayed_tasks_too_shows_how_many_there_are_about(cli: Cli) -> None:
    cli("submit", "a", "b", "--delay", "1h")
    cli("submit", "c")
    assert re.search(r"3 of about 3 tasks cleared, .* left", shown(cli, "queue", "clear", "--delayed", "--yes"))


def test_in_a_pipe_short_work_prints_nothing_more(cli: Cli) -> None:
    cli("submit", "a", "b")
    answer = cli("queue", "clear", "--yes")
    assert (answer.out, answer.err) == ("2 cleared\n", "")


def test_long_work_in_a_pipe_prints_plain_lines(inside: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfastd.cli.common.work_progress.PERIOD", 0.0)
    inside("submit", *"abcde")
    answer = inside("queue", "clear", "--yes")
    assert answer.out == "5 cleared\n"
    assert re.fullmatch(r"supervisor: 5 of 5 tasks cleared, [0-9.]+ a second, 0\.0s left\n", answer.err)
