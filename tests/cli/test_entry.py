"""The start and the end of every command: help, exit status, standard streams."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfastd.cli.command_table import COMMANDS, LISTED, LazyCommand
from tests.cli.commands import Cli, Inside, clean
from tests.forked import SUPERVISOR
from tests.users import bound_by_modes

NOUNS = ["start", "stop", "status", "scale", "submit", "tasks", "queue", "workers", "version", "check", "doctor"]
BELOW = [("tasks", noun) for noun in ("list", "show", "cancel", "count")]
BELOW += [("queue", noun) for noun in ("length", "peek", "clear", "unreadable")]


@pytest.fixture
def bare(tmp_path: Path) -> Cli:
    return Cli(tmp_path, forked=False)


def test_help_lists_every_command(bare: Cli) -> None:
    answer = bare("--help")
    assert answer.status == 0
    assert all(noun in answer.out for noun in NOUNS)


def test_help_needs_no_rich_where_it_goes_to_no_terminal(tmp_path: Path) -> None:
    program = "import sys; from holdfastd.cli.main import run; run(sys.argv[1:]); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, env=clean({}))
    *shown, modules = done.stdout.splitlines()
    assert "'rich.console'" not in modules
    assert all(any(str(command.help) in line for line in shown) for command in COMMANDS if not command.hidden)


def test_help_on_a_terminal_has_the_same_commands(cli: Cli) -> None:
    bare = Cli(cli.folder, forked=False)
    shown = bare.on_terminal("--help").out
    assert all(noun in shown for noun in NOUNS)
    assert "╭" in shown


@pytest.mark.parametrize("is_terminal", [False, True])
def test_help_lists_the_commands_in_groups(bare: Cli, is_terminal: bool) -> None:
    shown = re.sub(r"\x1b\[[\d;]*m", "", (bare.on_terminal if is_terminal else bare)("--help").out)
    places = [shown.index(f"╭─ {name} ─" if is_terminal else f"\n{name}:\n") for name in LISTED]
    assert places == sorted(places)
    assert list(LISTED) == ["Run", "Work", "Look", "Change", "Set up"]
    names = [line.strip(" │").split(" ")[0] for line in shown.splitlines()]
    assert {"unset", "tell", "statuses", "dispatch", "control"}.isdisjoint(names)
    assert "timeline" in names


def test_the_first_list_nearly_fits_one_screen(bare: Cli) -> None:
    assert bare("--help").out.count("\n") <= 64


@pytest.mark.parametrize("words", [["set", "a:A", "STOP"], ["statuses"], ["unset", "a:A"]])
def test_verbs_of_the_timeline_have_both_spellings(cli: Cli, words: list[str]) -> None:
    for before in ([], ["timeline"]):
        cli("timeline", "set", "a:A", "NOW")
        assert cli(*before, *words).status == 0


@pytest.mark.parametrize("words", [["start"], ["tasks", "list"], ["timeline", "set"], ["set"], ["version"]])
def test_help_of_a_command_is_its_help(bare: Cli, words: list[str]) -> None:
    assert bare("help", *words).out == bare(*words, "--help").out


def test_help_alone_is_the_list_and_of_a_misspelt_command_what_was_meant(bare: Cli) -> None:
    assert bare("help").out == bare("--help").out
    assert bare("help", "strat").err == bare("strat").err
    assert "'start'" in bare("strat").err
    answer = bare("help", "tasks", "lst")
    assert (answer.status, answer.err) == (
        2,
        "supervisor: No such command 'lst'. Did you mean 'list'? (see supervisor tasks --help)\n",
    )


@pytest.mark.parametrize("command", [(noun,) for noun in NOUNS] + BELOW, ids=" ".join)
def test_every_help_has_an_example(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    answer = Inside(tmp_path, capsys=capsys)(*command, "--help")
    assert answer.status == 0
    assert "Example" in answer.out
    assert f"supervisor {' '.join(command)}" in answer.out.split("Example")[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command.name))
def test_a_listed_command_can_be_loaded_under_its_name(command: LazyCommand) -> None:
    assert command.load().name == command.name


@pytest.mark.parametrize("arguments", [["--help"], ["version"]])
def test_help_and_version_import_neither_settings_nor_redis(tmp_path: Path, arguments: list[str]) -> None:
    program = "import sys; from holdfastd.cli.main import run; run(sys.argv[1:]); print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=tmp_path, env=clean({})
    )
    assert "click" in done.stdout
    assert "'redis'" not in done.stdout
    assert "'pydantic'" not in done.stdout


def test_version_as_text_and_as_document(bare: Cli) -> None:
    assert bare("version").out.startswith("holdfast ")
    assert bare("version", "--json").document.keys() == {"version", "python"}
    assert bare("--version").out == bare("version").out


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["version", "--nonsense"], ["stop", "--timeout", "many"], ["tasks", "show"]]
)
def test_usage_errors_are_one_line_and_exit_2(bare: Cli, arguments: list[str]) -> None:
    answer = bare(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("supervisor: ")
    assert answer.err.count("\n") == 1
    assert "--help" in answer.err


def test_unreachable_store_exits_69_and_hides_the_password(tmp_path: Path) -> None:
    answer = Cli(tmp_path, forked=False)("tasks", "count", "--redis-url", "redis://me:secret@localhost:1/0")
    assert answer.status == 69
    assert "localhost:1" in answer.err
    assert "secret" not in answer.err + answer.out


def test_a_missing_embedded_store_says_how_to_get_one(alone: Cli) -> None:
    answer = alone("queue", "length")
    assert answer.status == 69
    assert "supervisor start" in answer.err


def test_bad_settings_exit_78_with_a_line_each(tmp_path: Path) -> None:
    environ = {"HOLDFAST_WORKRES": "3", "HOLDFAST_LEASE": "soon"}
    answer = Cli(tmp_path, environ=environ, forked=False)("tasks", "count")
    assert answer.status == 78
    lines = answer.err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("supervisor: HOLDFAST_") for line in lines)


def test_a_flag_with_a_bad_value_exits_78_naming_it(bare: Cli) -> None:
    answer = bare("start", "agent:handle", "--workers", "0")
    assert answer.status == 78
    assert "--workers" in answer.err
    assert "from 1 to 10000" in answer.err


def test_a_forbidden_socket_exits_77(server_url: str, tmp_path: Path) -> None:
    path = Path(server_url.removeprefix("unix://"))
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        with bound_by_modes():
            answer = Cli(tmp_path, forked=False)("tasks", "count", "--redis-url", server_url)
        assert answer.status == 77, answer.err
    finally:
        path.chmod(mode)


def test_an_unexpected_error_is_a_bug_whose_place_debug_shows(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import holdfast.store\nholdfast.store.open_store = lambda *settings: 1 / 0\n"
    )
    cli = Cli(tmp_path, environ={"PYTHONPATH": str(tmp_path), "REDIS_URL": "redis://127.0.0.1:1"})
    short, long = cli("tasks", "count"), cli("tasks", "count", "--debug")
    assert (short.status, long.status) == (70, 70)
    assert short.err.count("\n") == 1
    assert "ZeroDivisionError" in short.err
    assert "Traceback" in long.err
    assert "Traceback" in Cli(tmp_path, environ=cli.environ | {"HOLDFAST_LOG_LEVEL": "debug"})("tasks", "count").err


def test_a_reader_that_goes_away_is_no_bug(cli: Cli) -> None:
    cli("submit", "--lines", "-", stdin=b"x\n" * 3000)
    command = [SUPERVISOR, "queue", "peek", "--limit", "3000", *cli.options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean({}))
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141
