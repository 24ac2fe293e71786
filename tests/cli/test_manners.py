"""All commands have these in common: their names and verbs, the options after a verb, the groups of a long help."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import pytest

from holdfast_config import Settings
from holdfastd.cli.command_table import LazyCommand
from holdfastd.cli.command_table import cli as group
from holdfastd.cli.common.setting_flags import GROUPS, NOT_FLAGS
from holdfastd.cli.common.store_session import IN_MEMORY
from tests.cli.commands import Inside
from tests.forked import SUPERVISOR

IN_TOML = 'scheduler_type = "memory"\n'  # shown to be read by the error of a command that needs a store


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inside:
    return Inside(tmp_path, capsys=capsys)


def commands(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    command = command.load() if isinstance(command, LazyCommand) else command
    yield name, command
    if isinstance(command, click.Group):
        for word, inner in command.commands.items():
            yield from commands(inner, f"{name} {word}".strip())


@pytest.mark.parametrize("noun", ["tasks", "dead", "schedules", "lanes", "queue unreadable"])
def test_lists_have_the_same_verbs(noun: str) -> None:
    known = {name for name, command in commands(group) if not command.hidden}
    assert {f"{noun} list", f"{noun} show"} <= known
    assert f"{noun} remove" in known or noun == "lanes"  # a lane is there as long as it is used


def test_the_settings_file_may_be_named_before_and_after_every_command(here: Inside) -> None:
    taking = {name for name, command in commands(group) if any(each.name == "config" for each in command.params)}
    short = {name for name, command in commands(group) if any("-c" in each.opts for each in command.params)}
    assert taking == short
    assert {"status", "stop", "start", "tasks list", "why", "top"} <= taking
    (here.folder / "own.toml").write_text(IN_TOML)
    own = str(here.folder / "own.toml")
    for words in (["-c", own, "tasks", "count"], ["tasks", "count", "-c", own], ["tasks", "count", "--config", own]):
        assert IN_MEMORY in here(*words).err


@pytest.mark.parametrize(
    "words", [["tasks", "list"], ["stop"], ["status"], ["queue", "unreadable", "list"], ["schedules", "list"], ["web"]]
)
def test_the_runtime_folder_may_be_named_before_and_after_every_verb(here: Inside, words: list[str]) -> None:
    named = ["--runtime-dir", str(here.folder / "named")]
    for place in range(len(words) + 1):
        assert f"no supervisor runs in {named[1]}: " in here(*words[:place], *named, *words[place:]).err
    assert f"no supervisor runs in {named[1]}: " in here("--runtime-dir", "/other", *words, *named).err


def test_every_setting_stands_in_one_group_of_the_help(here: Inside) -> None:
    listed = [field for fields in GROUPS.values() for field in fields]
    assert len(listed) == len(set(listed))
    assert set(listed) - {"config", "env_file"} == set(Settings.model_fields) - set(NOT_FLAGS)
    shown = here("start", "--help").out
    places = [shown.index(f"╭─ {name} ─") for name in (*GROUPS, "Options")]
    assert places == sorted(places)
    assert shown.index("--workers") < shown.index("╭─ Redis ─") < shown.index("--redis-url")


def test_the_command_has_a_second_name(here: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (SUPERVISOR.parent / "holdfast").read_text() == SUPERVISOR.read_text()
    monkeypatch.setattr("sys.argv", ["/usr/bin/holdfast"])
    assert here("--help").out.startswith("Usage: holdfast ")
    assert here("nonsense").err.startswith("holdfast: No such command 'nonsense'")
    assert "_HOLDFAST_COMPLETE=bash_complete" in here("completion", "bash").out
    monkeypatch.setattr("sys.argv", ["-m"])
    assert here("--help").out.startswith("Usage: supervisor ")


def test_one_lane_is_shown_in_full(inside: Inside) -> None:
    inside("submit", "x", "--lane", "mail")
    inside("lanes", "set", "mail", "--create", "--running", "5")
    document = cast("dict[str, Any]", json.loads(inside("lanes", "show", "mail", "--json").out))
    assert (document["lane"], document["waiting"], document["limit"]["value"]) == ("mail", 1, "5")
    assert "waiting  1\n" in inside("lanes", "show", "mail").out
