"""`supervisor check`: what would run, and why it would not; nothing is started, and nothing of an import stays."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.cli.commands import Cli, clean
from tests.forked import SUPERVISOR

FINE = """
async def handle(messages, task):
    return "done"
"""
NAMED = """
from holdfast import Handlers, Task

handlers = Handlers()

@handlers.register("bill")
def bill(region, task: Task, *, currency="EUR"):
    return region

@handlers.default
async def other(messages):
    yield 1
"""
STARTS_A_THREAD = """
import threading, time
print("an import may print")
threading.Thread(target=time.sleep, args=(600,), name="pump").start()

def handle(messages):
    yield 1
"""
STARTS_A_PROCESS = """
import pathlib, subprocess
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
pathlib.Path("child.pid").write_text(str(child.pid))

def handle(messages):
    return 1
"""
RAISES = "1 / 0\n"
HANGS = "import time\ntime.sleep(600)\n"
EXITS = "import os\nos._exit(3)\n"
FORKS_AND_EXITS = "import os, time\nif os.fork() == 0: time.sleep(600)\n" + EXITS
CRASHES = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
NEEDS_MORE = "def handle(messages, customer): return 1\n"


@pytest.fixture
def check(short_path: Path) -> Cli:
    """In a folder where nothing is; `agent.py` is to be written there."""
    return Cli(short_path, ("--runtime-dir", str(short_path / "run"), "--state-dir", str(short_path / "state")))


def write(check: Cli, code: str) -> None:
    (check.folder / "agent.py").write_text(code)


def test_what_would_run_is_shown_and_nothing_is_made(check: Cli) -> None:
    write(check, FINE)
    answer = check("check", "--workers", "3")
    assert (answer.status, answer.err) == (0, "")
    for part in ("agent:handle", "coroutine, takes messages, task", "3, each up to 10", "embedded, valkey"):
        assert part in answer.out
    assert "warning" not in answer.out
    assert not (check.folder / "run").exists()
    assert not (check.folder / "state").exists()


def test_handlers_by_name_are_shown_with_their_kinds(check: Cli) -> None:
    write(check, NAMED)
    document = check("check", "agent:handlers", "--json").document
    assert document["ok"]
    assert document["handler"]["functions"] == [
        {"name": "", "kind": "async generator", "takes": ["messages"]},
        {"name": "bill", "kind": "function in a thread", "takes": ["task", "currency=…", "region"]},
    ]


def test_what_a_handler_asks_for_itself_is_shown_and_a_lane_that_nobody_serves_is_told(check: Cli) -> None:
    options = 'register("bill", lane="billing", concurrency=2)'
    write(check, NAMED.replace('register("bill")', options))
    answer = check("check", "agent:handlers")
    assert answer.status == 0
    assert "bill: function in a thread, takes task, currency=…, region, concurrency 2, lane billing" in answer.out
    assert "the handler bill has the lane billing, which these workers do not serve" in answer.out
    served = check("check", "agent:handlers", "--json", "--lanes", "bindu:tasks,billing").document
    assert served["warnings"] == []
    assert served["handler"]["functions"][1]["options"] == {"concurrency": 2, "lane": "billing"}


def test_schedules_of_the_code_are_listed(check: Cli) -> None:
    write(
        check,
        NAMED
        + """
handlers.schedule("nightly", cron="0 2 * * *", timezone="Europe/Berlin", name="bill", kwargs={"region": "eu"})
handlers.schedule("often", every="15m", text="look")
""",
    )
    answer = check("check", "agent:handlers")
    assert "schedule nightly: At 02:00 every day, Europe/Berlin, runs bill\n" in answer.out
    assert "schedule often: Every 15 minutes, counted from " in answer.out
    assert answer.out.count(", runs the default handler\n") == 1
    listed = check("check", "agent:handlers", "--json").document["handler"]["schedules"]
    assert [(each["schedule_id"], each["name"]) for each in listed] == [("nightly", "bill"), ("often", "")]


def test_a_store_is_shown_without_its_password(check: Cli) -> None:
    write(check, FINE)
    answer = check("check", "--json", "--redis-url", "redis://me:secret@db:6379/0")
    assert answer.document["store"] == {"url": "redis://me:***@db:6379/0", "embedded": False, "engine": ""}
    assert "secret" not in check("check", "--redis-url", "redis://me:secret@db:6379/0").out


def test_threads_of_an_import_are_warned_of_and_its_output_is_none_of_the_answer(check: Cli) -> None:
    write(check, STARTS_A_THREAD)
    document = check("check", "--json").document
    assert document["ok"]
    assert document["handler"]["functions"][0]["kind"] == "generator in a thread"
    assert document["handler"]["threads"] == ["pump"]
    assert "pump" in document["warnings"][0]["found"]


def test_what_an_import_started_is_ended_with_it(check: Cli) -> None:
    write(check, STARTS_A_PROCESS)
    document = check("check", "--json").document
    pid = int((check.folder / "child.pid").read_text())
    assert document["handler"]["processes"] == [pid]
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_what_cannot_be_preloaded_is_told_with_the_words_of_start(check: Cli) -> None:
    write(check, STARTS_A_THREAD)
    why = "its import started 1 thread (pump), which a forked worker would not have"
    assert f"warning: the handler is not preloaded, each worker imports it: {why}" in check("check").out
    assert "not preloaded" not in check("check", "--no-preload").out


@pytest.mark.parametrize("code", [RAISES, NEEDS_MORE])
def test_an_error_is_told_as_start_tells_it(check: Cli, code: str) -> None:
    write(check, code)
    checked, started = check("check"), check("start")
    assert (checked.status, checked.out) == (78, "")
    assert started.status == 78
    lines = [line for line in started.err.splitlines() if not line.startswith("{")]
    assert checked.err.splitlines() == lines


def test_a_memory_limit_that_no_worker_can_keep_is_refused_with_the_words_of_start(check: Cli) -> None:
    write(check, FINE)
    answer = check("check", "--max-memory", "1KB")
    assert answer.status == 78
    assert answer.err.startswith("supervisor: max_memory: 1024 bytes: a worker takes ")
    assert answer.err.endswith("before its first task; allow more\n")


def test_an_import_that_hangs_is_ended_and_shows_where(check: Cli) -> None:
    write(check, HANGS)
    answer = check("check", "--boot-timeout", "0.5")
    assert answer.status == 78
    assert "importing agent:handle did not end within 0.5 s" in answer.err
    assert 'agent.py", line 2' in answer.err


@pytest.mark.parametrize(
    ("code", "how"),
    [(EXITS, "exit 3"), (FORKS_AND_EXITS, "exit 3"), (CRASHES, "SIGSEGV")],
    ids=["exits", "forks", "crashes"],
)
def test_an_import_that_ends_its_process_is_told_so(check: Cli, code: str, how: str) -> None:
    write(check, code)
    answer = check("check")
    assert answer.status == 78
    assert f"importing agent:handle ended its process: {how}" in answer.err


def test_a_handler_without_a_name_and_bad_settings_are_told_before_anything_is_imported(check: Cli) -> None:
    assert check("check").status == 78
    answer = check("check", "agent:handle", "--workers", "none")
    assert answer.status == 78
    assert "--workers" in answer.err


def test_a_state_directory_of_a_newer_engine_is_refused(check: Cli) -> None:
    write(check, FINE)
    (check.folder / "state/store").mkdir(parents=True)
    (check.folder / "state/store/engine").write_text("valkey 99.0.0\n")
    answer = check("check", "--json")
    assert answer.status == 78
    assert "99.0.0" in answer.document["obstacles"][0]["told"]


@pytest.mark.parametrize("runtime_dir", ["run", "run/below"])
def test_a_folder_that_cannot_be_made_is_refused_with_the_words_of_start(check: Cli, runtime_dir: str) -> None:
    write(check, FINE)
    (check.folder / "run").write_text("")
    cli = Cli(check.folder, ("--runtime-dir", str(check.folder / runtime_dir), "--state-dir", str(check.folder)))
    checked, started = cli("check"), cli("start")
    assert (checked.status, checked.err) == (started.status, started.err)
    assert checked.status == 78


def test_more_workers_than_the_host_can_hold_are_refused_with_the_words_of_start(check: Cli) -> None:
    write(check, FINE)
    limited = "ulimit -n 110; exec " + " ".join([str(SUPERVISOR), "check", "--workers", "9", *check.options])
    done = subprocess.run(["sh", "-c", limited], cwd=check.folder, env=clean({}), capture_output=True, timeout=60)
    assert done.returncode == 78
    assert b"this host cannot hold 9 workers, 3 at most" in done.stderr


def test_lanes_without_the_plain_queue_are_warned_of(check: Cli) -> None:
    write(check, FINE)
    assert "--lanes bindu:tasks,other:list" in check("check", "--lanes", "other:list").out


def test_it_may_be_asked_while_a_supervisor_runs(pool: Cli) -> None:
    assert pool("check", "examples.wordcount:handle").status == 0


def test_json_is_one_document_whatever_the_import_prints(check: Cli) -> None:
    write(check, "import os\nos.write(1, b'noise')\n" + FINE)
    command = [SUPERVISOR, "check", "--json", *check.options]
    done = subprocess.run(command, cwd=check.folder, env=clean({}), capture_output=True, timeout=60)
    assert json.loads(done.stdout)["ok"]
    assert b"noise" in done.stderr
