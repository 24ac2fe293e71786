"""Completion in shells; and the examples that `--help` shows are commands that exist."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

import click
import pytest

from holdfast import TaskManager, TaskSpec
from holdfast.store.redis import RedisStore
from holdfastd.cli.command_table import LazyCommand
from holdfastd.cli.command_table import cli as group
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.task_id import OFFERED, ids_beginning
from tests.cli.commands import Cli, clean
from tests.forked import SUPERVISOR

if TYPE_CHECKING:
    from holdfast_config import RedisSettings

PATIENCE = 120  # seconds
BASH = """
source /dev/stdin <<< "$(supervisor completion bash)"
COMP_WORDS=({words}) COMP_CWORD={place} COMPREPLY=()
_supervisor_completion supervisor
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def by_bash(*words: str, environ: dict[str, str] | None = None) -> list[str]:
    """The completions that bash offers for the last of these words."""
    script = BASH.format(words=" ".join(map(shlex.quote, words)), place=len(words) - 1)
    path = {"PATH": f"{SUPERVISOR.parent}:/usr/bin:/bin"}
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    done = subprocess.run(
        [bash, "-c", script], capture_output=True, text=True, env=clean(path | (environ or {})), timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("supervisor", "rel"), ["reload"]),
        (("supervisor", "tasks", "ca"), ["cancel"]),
        (("supervisor", "tasks", "list", "--sta"), ["--state"]),
        (("supervisor", "tasks", "list", "--state", "work"), ["working"]),
        (("supervisor", "start", "--max-me"), ["--max-message-bytes", "--max-memory"]),
    ],
)
def test_bash_completes_commands_options_and_values(words: tuple[str, ...], offered: list[str]) -> None:
    assert sorted(by_bash(*words)) == sorted(offered)


def test_bash_completes_task_ids_of_the_store(cli: Cli) -> None:
    for task_id in ("invoice-1", "invoice-2", "other"):
        assert cli("submit", "x", "--task-id", task_id).status == 0
    url, queue = cli.options[1], cli.options[3]
    environ = {"REDIS_URL": url, "REDIS_QUEUE_NAME": queue}
    offered, given_up = list[str](), time.monotonic() + PATIENCE
    while not offered and time.monotonic() < given_up:  # a store that does not answer within a second offers nothing
        offered = by_bash("supervisor", "why", "inv", environ=environ)
    assert sorted(offered) == ["invoice-1", "invoice-2"]


@pytest.mark.anyio
async def test_any_id_is_offered_not_only_those_that_are_listed_first(
    redis_settings: RedisSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfastd.cli.common.task_id.PAGE", 10)
    async with aclosing(RedisStore(redis_settings)) as store:
        manager = TaskManager(store, queue=redis_settings.queue)
        await manager.run_tasks([TaskSpec(text="x", task_id=f"many-{number:03}") for number in range(300)])
        assert [each async for each in ids_beginning(store, "many-299")] == ["many-299"]
        assert len({each async for each in ids_beginning(store, "many-00")}) == 10
        assert len({each async for each in ids_beginning(store, "many")}) >= OFFERED
        assert len([each async for each in ids_beginning(store, "")]) == OFFERED


def test_without_a_store_no_id_is_offered_and_nothing_is_said(alone: Cli) -> None:
    runtime_dir = alone.options[1]
    assert by_bash("supervisor", "why", "x", environ={"HOLDFAST_RUNTIME_DIR": runtime_dir}) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(alone: Cli, shell: str) -> None:
    done = Cli(alone.folder)("completion", shell)
    assert done.status == 0
    assert f"_SUPERVISOR_COMPLETE={shell}_complete" in done.out
    program = shutil.which(shell)
    if program is not None:
        assert subprocess.run([program, "-n"], input=done.out, text=True, timeout=60).returncode == 0


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    command = command.load() if isinstance(command, LazyCommand) else command
    yield name, command
    if isinstance(command, click.Group):
        for word, inner in command.commands.items():
            yield from commands(inner, f"{name} {word}")


def examples() -> list[str]:
    """Every command line that a help text shows."""
    lines = [
        part.strip()
        for _, command in commands(group, "supervisor")
        for line in (command.epilog or "").splitlines()
        for part in line.removeprefix("Examples:").removeprefix("Example:").split(";")
    ]
    return sorted(
        {line for line in lines if line.removeprefix("sudo ").startswith("supervisor ") or "| supervisor " in line}
    )


@pytest.mark.parametrize("line", examples())
def test_every_example_is_a_command_that_exists(line: str) -> None:
    words = shlex.split(line[line.index("supervisor ") :], comments=True)[1:]
    for stop in (">", ">>", "||", "|", "&&"):
        words = words[: words.index(stop)] if stop in words else words
    context = group.make_context("supervisor", [], obj=Session(), resilient_parsing=True)
    command: click.Command = group
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command = found.load() if isinstance(found, LazyCommand) else found
    parsed = command.make_context(command.name, list(words), parent=context, resilient_parsing=True)
    assert parsed.args == []


def test_every_command_teaches_by_example() -> None:
    without = [name for name, command in commands(group, "supervisor") if "Example" not in (command.epilog or "")]
    assert without == []
