"""The systems under measurement: this project, the limit (a bare loop), and the peers, each as it comes.

Peers are quiet (no log line a task) and store results as far as they do so by default.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field, replace

from bench.pool import ROOT

LIMIT = "bare loop, 16 in flight"
LIMIT_ALONE = "bare loop, 1 in flight"
OURS = "holdfast"


@dataclass(frozen=True, slots=True)
class System:
    """`command` begins with a program of the environment; `{workers}`, `{url}` and `{place}`, a folder, are filled in.

    `pins`: the file of bench/pins that its environment is made from; none for this project's own environment.
    `gap`: seconds between two timed tasks, enough for it to be at rest.
    `each`: the command is one worker, and is started once for each. `drains`: the signal that lets it finish what runs.
    `tables`: the command that makes its tables in PostgreSQL. `kept`: SQL for the number of completed tasks there.
    """

    name: str
    app: str
    command: tuple[str, ...]
    pins: str = ""
    each: bool = False
    tasks: int = 20_000
    gap: float = 0.005
    options: dict[str, object] = field(default_factory=dict[str, object])
    note: str = ""
    drains: signal.Signals = signal.SIGTERM
    tables: tuple[str, ...] = ()
    kept: str = ""


def _loop(name: str, connections: int, note: str, tasks: int) -> System:
    command = ("python", "-m", "bench.apps.loop")
    options: dict[str, object] = {"connections": connections}
    return System(name, "loop", command, each=True, tasks=tasks, options=options, note=note)


_FOLDERS = ("--app-dir", str(ROOT), "--state-dir", "{place}/state", "--runtime-dir", "{place}/run")
START = ("supervisor", "start", "bench.apps.holdfast:handlers", "--redis-url", "{url}", *_FOLDERS)

HOLDFAST = System(
    OURS,
    "holdfast",
    (*START, "--workers", "{workers}"),
    tasks=60_000,
    note="default settings: claims survive a crash, records and results are kept",
)
LOOPS = (
    _loop(
        LIMIT,
        16,
        "BLPOP and HSET, by asyncio.Protocol and hiredis, over 16 connections a process; a killed process loses tasks",
        100_000,
    ),
    _loop(LIMIT_ALONE, 1, "the same loop with one connection a process", 40_000),
)
PEERS = (
    System(
        "huey",
        "huey",
        ("huey_consumer", "bench.apps.huey.huey", "-q", "-w", "{workers}", "-k", "process"),
        "huey",
        note="worker processes, results kept; the task of a worker that dies is lost",
        drains=signal.SIGINT,
    ),
    System(
        "rq",
        "rq",
        ("rq", "worker-pool", "-q", "-u", "{url}", "-n", "{workers}"),
        "rq",
        tasks=600,
        gap=0.1,
        note="worker-pool with a fork for each task, results kept; tasks for the latency are 100 ms apart, not 5",
    ),
    System(
        "saq",
        "saq",
        ("saq", "bench.apps.saq.settings", "--workers", "{workers}"),
        "saq",
        note="10 tasks at once in a process, uvloop, states and results kept",
    ),
    System(
        "dramatiq",
        "dramatiq",
        ("dramatiq", "bench.apps.dramatiq", "-p", "{workers}"),
        "dramatiq",
        note="8 threads in a process, results kept by the Results middleware",
    ),
    System(
        "taskiq",
        "taskiq",
        ("taskiq", "worker", "bench.apps.taskiq:broker", "-w", "{workers}", "--log-level", "WARNING"),
        "taskiq",
        note="100 tasks at once in a process, a Redis stream, results kept",
    ),
    System(
        "celery",
        "celery",
        ("celery", "-A", "bench.apps.celery", "worker", "-l", "WARNING", "-c", "{workers}"),
        "celery",
        tasks=8_000,
        note="prefork, tasks are acknowledged before they run, results kept",
    ),
    System(
        "arq",
        "arq",
        ("arq", "bench.apps.arq.WorkerSettings", "--custom-log-dict", "bench.apps.arq.LOGGING"),
        "arq",
        each=True,
        tasks=1_500,
        note="10 tasks at once in a process, asks the queue twice a second, results kept",
    ),
)

ON_POSTGRES = (
    replace(
        HOLDFAST,
        tasks=20_000,
        note="PostgreSQL storage with default settings; tasks are claimed in Redis",
        tables=("supervisor", "db", "upgrade"),
        kept="SELECT count(*) FROM holdfast_tasks WHERE state = 'completed'",
    ),
    System(
        "procrastinate",
        "procrastinate",
        ("procrastinate", "-a", "bench.apps.procrastinate.app", "worker", "-c", "10"),
        "procrastinate",
        each=True,
        tasks=6_000,
        note="10 jobs at once, psycopg with its C part; jobs and their states are kept, no results",
        tables=("procrastinate", "-a", "bench.apps.procrastinate.app", "schema", "--apply"),
        kept="SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'",
    ),
    System(
        "pgqueuer",
        "pgqueuer",
        ("python", "-m", "bench.apps.pgqueuer"),
        "pgqueuer",
        each=True,
        note="batches of 10 jobs, asyncpg and uvloop, durable tables; the log of jobs is kept, no results",
        tables=("pgq", "install"),
        kept="SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'",
    ),
)
