"""`supervisor reload`: new code serves once it boots, and only then."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from holdfastd.parent.parent_process import RELOADABLE
from tests.cli.commands import ROOT, Cli
from tests.cli.conftest import running, until_replaced

HANDLER = """
def handle(messages):
    return {word!r}
"""


def write(folder: Path, word: str) -> None:
    """Its size tells two versions apart for the import system, whatever the clock says."""
    (folder / "agent.py").write_text(HANDLER.format(word=word) + "#" * len(word))


def answer(cli: Cli) -> str:
    (line,) = cli("submit", "x", "--wait").lines
    return str(line["result"])


def generations(cli: Cli) -> set[int]:
    return {
        process["generation"]
        for process in cli("status", "--json").document["processes"]
        if process["kind"] == "worker"
    }


def test_new_code_serves_after_a_reload(short_path: Path) -> None:
    write(short_path, "old")
    with running(short_path, "--workers", "2") as (cli, _):
        assert answer(cli) == "old"
        write(short_path, "newer")
        done = cli("reload", "--wait")
        assert (done.status, done.out) == (0, "reloaded\n")
        until_replaced(cli)
        assert {answer(cli) for _ in range(5)} == {"newer"}
        assert generations(cli) == {1}


def test_broken_code_leaves_the_old_serving_and_shows_the_traceback(short_path: Path) -> None:
    write(short_path, "old")
    with running(short_path, "--workers", "2") as (cli, process):
        (short_path / "agent.py").write_text("import nothing_of_this_name\n")
        done = cli("reload", "--wait")
        assert done.status == 1
        assert "Traceback" in done.err
        assert "nothing_of_this_name" in done.err
        assert "the old goes on serving" in done.err.splitlines()[-1]
        document = cli("reload", "--wait", "--json")
        assert (document.status, document.document["reloaded"]) == (1, False)
        assert answer(cli) == "old"
        assert generations(cli) == {0}
        write(short_path, "mended")
        process.send_signal(signal.SIGHUP)
        assert cli("reload", "--wait").status == 0
        until_replaced(cli)
        assert answer(cli) == "mended"


def test_settings_are_read_anew(short_path: Path) -> None:
    write(short_path, "agent")
    (short_path / "other.py").write_text(HANDLER.format(word="other"))
    file = short_path / "supervisor.toml"
    file.write_text('handler = "agent:handle"\n')
    with running(short_path) as (cli, _):
        assert answer(cli) == "agent"
        file.write_text('handler = "other:handle"\n')
        assert cli("reload", "--wait").status == 0
        until_replaced(cli)
        assert answer(cli) == "other"
        file.write_text('handler = "other:handle"\nmax_attempts = "many"\n')
        done = Cli(short_path, ("--runtime-dir", str(short_path / "run"), "--config", os.devnull))("reload", "--wait")
        assert done.status == 1
        assert "max_attempts" in done.err
        assert answer(Cli(short_path, (*cli.options, "--config", os.devnull))) == "other"


def warned(log: Path) -> list[list[str]]:
    """The settings of which each reload has warned."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line["settings"] for line in lines if line["event"] == "these settings change only with a restart"]


def test_a_reload_warns_only_of_settings_that_have_changed(short_path: Path) -> None:
    """The token that a start makes for its dashboard has not changed."""
    write(short_path, "agent")
    file, log = short_path / "supervisor.toml", short_path / "log"
    web = f'web = "unix:{short_path}/web.sock"\n'
    file.write_text(web)
    kept = ("bash", "-c", f'exec "$0" "$@" 2> >(tee {log} >&2)')
    with running(short_path, before=kept) as (cli, _):
        reloads = {web: 0, web + "lease = 20\n": 1, web + "lease = 20\nconcurrency = 3\n": 1, web + "lease = 30\n": 2}
        for text, number in reloads.items():
            file.write_text(text)
            assert cli("reload", "--wait").status == 0
            until_replaced(cli)
            assert warned(log) == [["lease"]] * number
        file.write_text(web)
        assert cli("reload", "--wait").status == 0
        assert warned(log) == [["lease"]] * 2  # these settings are what runs


def test_settings_that_need_a_restart_are_named_until_it_comes(short_path: Path) -> None:
    """Also those that an earlier reload has named, and those that a signal has read."""
    write(short_path, "agent")
    file = short_path / "supervisor.toml"
    with running(short_path) as (cli, _):
        assert cli("status", "--json").document["not_applied"] == []
        file.write_text('log_format = "json"\n')
        assert cli("reload", "--wait").out == "reloaded; not applied until a restart: log_format\n"
        file.write_text('log_format = "json"\nlog_level = "error"\nconcurrency = 3\n')
        done = cli("reload", "--wait", "--json").document
        assert (done["reloaded"], done["not_applied"]) == (True, ["log_format", "log_level"])
        file.write_text("concurrency = ")
        assert cli("reload", "--wait", "--config", os.devnull).status == 1
        assert "not applied until a restart: log_format, log_level" in cli("status", "--config", os.devnull).out
        file.write_text('log_level = "error"\n')
        assert cli("reload", "--wait").out == "reloaded; not applied until a restart: log_level\n"
        file.write_text("")
        assert cli("reload", "--wait").out == "reloaded\n"
        assert "not applied" not in cli("status").out


def test_the_documentation_names_all_settings_that_a_reload_applies() -> None:
    (text,) = re.findall(r"A reload applies (.*?)\.\n", (ROOT / "docs/operating.md").read_text(), re.DOTALL)
    assert set(re.findall(r"`(\w+)`", text)) == RELOADABLE


def test_without_a_wait_it_is_only_asked_for(short_path: Path) -> None:
    write(short_path, "old")
    with running(short_path) as (cli, _):
        done = cli("reload")
        assert done.status == 0
        assert done.out.startswith("reloading")


@pytest.mark.parametrize("options", [(), ("--wait",)])
def test_nobody_to_reload_is_an_error(alone: Cli, options: tuple[str, ...]) -> None:
    done = alone("reload", *options)
    assert done.status == 1
    assert "no supervisor runs in" in done.err
