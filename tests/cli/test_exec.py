"""`supervisor start --exec`: a command in the place of a handler, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Cli
from tests.cli.conftest import running, until_replaced


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--exec", "no-such-command"), "exec 'no-such-command': no command 'no-such-command' on PATH ("),
        (("--exec", "./tool"), "exec './tool': no file 'tool' in "),
        (("--exec", "cat 'a"), "no closing quotation: quote it as for a shell"),
        (("--exec", "cat", "agent:handle"), "HANDLER and --exec both name what runs the tasks: keep one"),
        (("--exec", "cat", "--preload"), "exec 'cat': a command cannot be preloaded: leave --preload out"),
    ],
)
@pytest.mark.parametrize("command", ["start", "check"])
def test_a_command_that_cannot_be_run_is_refused_in_one_line(
    alone: Cli, command: str, arguments: tuple[str, ...], said: str
) -> None:
    answer = alone(command, *arguments)
    assert (answer.status, answer.out, answer.err.count("\n")) == (78, "", 1)
    assert said in answer.err


def test_check_tells_what_would_be_run(alone: Cli) -> None:
    answer = alone("check", "--exec", "cat -n")
    assert answer.status == 0
    assert answer.out.startswith("handler  cat -n\n")
    assert "/cat, a process for each task, takes JSON on standard input\n" in answer.out


def test_a_reload_takes_another_command_and_keeps_the_old_one_where_that_is_not_there(short_path: Path) -> None:
    settings = short_path / "supervisor.toml"
    settings.write_text('exec = "echo old"\n')
    with running(short_path) as (cli, _):
        assert cli("submit", "x", "--wait").lines[0]["result"] == "old"
        settings.write_text('exec = "echo new"\n')
        assert cli("reload", "--wait").status == 0
        until_replaced(cli)
        assert cli("submit", "x", "--wait").lines[0]["result"] == "new"
        settings.write_text('exec = "no-such-command"\n')
        answer = cli("reload", "--wait")
        assert answer.status != 0
        assert "no command 'no-such-command' on PATH" in answer.err
        assert cli("submit", "x", "--wait").lines[0]["result"] == "new"
