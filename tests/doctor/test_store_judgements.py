"""Judgements of a Redis server: each row has one fault, and the level it must be reported with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.counts import Counts
from holdfast.core.lanes import LaneState, LimitOrder
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.store_info import (
    AclInfo,
    ClientInfo,
    ForeignClient,
    LaneInfo,
    MemoryInfo,
    PersistenceInfo,
    QueueInfo,
    Replica,
    ServerInfo,
    SlowCommand,
    SlowInfo,
    StoreInfo,
    TimingInfo,
    WorkerInfo,
)
from holdfast.core.task_states import State
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfastd.doctor.finding import Finding
from holdfastd.doctor.store_checks import Expectation, judge

MEBIBYTE = 1 << 20
QUEUE = "bindu:tasks"
NO_TASKS = Counts(dict.fromkeys(State, 0), {QUEUE: 0}, dead=0, solo=0, unreadable=0, workers=1, oldest_ms=None)
LANE = LaneInfo(QUEUE, "list", 0, pushed_at_head=False, suspects=0)
MEMBER = WorkerInfo("w1", "host-a", "live", beats=9, beat_ago_ms=1000, vouched_ago_ms=1000)
FACTS = StoreInfo(
    url="redis://db/0",
    server=ServerInfo("redis", "7.0.15", "standalone", "master"),
    timing=TimingInfo(tuple([0.2] * 50), 3.0),
    memory=MemoryInfo(10 * MEBIBYTE, 100 * MEBIBYTE, "noeviction"),
    persistence=PersistenceInfo(True, "everysec", "", "ok", "ok", "ok"),
    clients=ClientInfo(20, 10_000, 0, 300, ()),
    rights=AclInfo("holdfast", (), ""),
    queue=QueueInfo("1", "1", 1_000_000, NO_TASKS, (MEMBER,), (LANE,)),
    slow=SlowInfo(9_000_000, 10_000, ()),
)
FORGOTTEN = replace(MEMBER, vouched_ago_ms=60_000)
STRANGER = ForeignClient("x", "1.2.3.4:5", "blpop", 9)
EXPECTED = Expectation(QUEUE, lease=15.0, connections=40, running=True, embedded=False)


def changed(part: str, **fields: Any) -> StoreInfo:
    return replace(FACTS, **{part: replace(getattr(FACTS, part), **fields)})


def counted(**fields: Any) -> StoreInfo:
    return changed("queue", counts=replace(NO_TASKS, **fields))


LONG = LaneState("mail", entries=5, held=0, running=1, oldest_ms=600_000, workers=2)  # 400 s before now


def waiting(*lanes: LaneState, quiet: tuple[Quiet, ...] = ()) -> StoreInfo:
    counts = replace(NO_TASKS, states={State.SUBMITTED: 5}, oldest_ms=600_000)
    return changed("queue", counts=counts, states=lanes, quiet=quiet)


def amiss(facts: StoreInfo) -> list[tuple[str, str]]:
    return [(str(finding.level), finding.look) for finding in judge(facts, EXPECTED) if finding.level != "ok"]


def only(facts: StoreInfo) -> Finding:
    (finding,) = (judged for judged in judge(facts, EXPECTED) if judged.level != "ok")
    return finding


def test_a_store_that_is_in_order_gives_only_good_findings() -> None:
    assert amiss(FACTS) == []


FOUND: dict[str, Any] = {"found_by": "sentinel", "address": "a:1", "replicas": 2, "careful": True}


@pytest.mark.parametrize(("found_by", "mode"), [("sentinel", "standalone"), ("cluster", "cluster")])
def test_a_server_that_others_name_and_follow_is_in_order(found_by: str, mode: str) -> None:
    assert amiss(changed("server", **{**FOUND, "found_by": found_by}, mode=mode)) == []


FOLLOWER = Replica("10.0.0.2:6379", "online", 500, 1)
SLOW = SlowCommand(8_999_000, 150.0, "KEYS")


def followed(**fields: Any) -> StoreInfo:
    return changed("server", **FOUND, followers=(FOLLOWER, replace(FOLLOWER, **fields)))


def noted(*commands: SlowCommand, above_us: int = 10_000) -> StoreInfo:
    return changed("slow", commands=commands, above_us=above_us)


def occupying(resident: int) -> StoreInfo:
    """A server that uses 300 MiB."""
    return changed("memory", limit=0, used=300 * MEBIBYTE, resident=resident * MEBIBYTE)


def hosted(**fields: Any) -> StoreInfo:
    """Two hosts, of which the second has these facts."""
    first = replace(MEMBER, version="0.2", clock_ahead_ms=20)
    return changed("queue", members=(first, replace(first, host="host-b", **fields)))


UNSEEN = replace(changed("clients", strangers=None), unseen=(("other clients", "no"),))
ROWS: list[tuple[str, StoreInfo, str, str]] = [
    ("an old Redis", changed("server", version="6.2.14"), "problem", "version"),
    ("a replica", changed("server", role="slave"), "problem", "role"),
    ("a Sentinel", changed("server", mode="sentinel"), "problem", "role"),
    ("a node of a Cluster by its own URL", changed("server", mode="cluster"), "problem", "role"),
    ("a master without replicas", changed("server", **{**FOUND, "replicas": 0}), "warning", "role"),
    ("a master that takes all writes", changed("server", **{**FOUND, "careful": False}), "warning", "role"),
    ("slow", changed("timing", round_trips_ms=tuple([11.0] * 50)), "warning", "latency"),
    ("stalling", changed("timing", round_trips_ms=(*[0.2] * 49, 0.3, 150.0, 150.0)), "warning", "latency"),
    ("a clock ahead", changed("timing", clock_ahead_ms=1001.0), "warning", "clock"),
    ("a clock behind", changed("timing", clock_ahead_ms=-1001.0), "warning", "clock"),
    ("evicting", changed("memory", policy="allkeys-lru"), "problem", "eviction"),
    ("evicting what expires", changed("memory", policy="volatile-ttl"), "problem", "eviction"),
    ("nearly full", changed("memory", used=81 * MEBIBYTE), "warning", "memory"),
    ("full", changed("memory", used=100 * MEBIBYTE), "problem", "memory"),
    ("keeps nothing", changed("persistence", aof=False, save=""), "warning", "persistence"),
    ("snapshots alone", changed("persistence", aof=False, save="60 1000"), "warning", "persistence"),
    ("does not tell", changed("persistence", aof=False, save=None), "warning", "persistence"),
    ("flushes seldom", changed("persistence", fsync="no"), "warning", "persistence"),
    ("cannot write its AOF", changed("persistence", aof_write="err"), "problem", "writes to disk"),
    ("cannot write snapshots", changed("persistence", snapshot="err"), "problem", "writes to disk"),
    ("cannot rewrite its AOF", changed("persistence", aof_rewrite="err"), "problem", "writes to disk"),
    ("few connections", changed("clients", connected=30, most=29), "warning", "connections"),
    ("closes soon", changed("clients", idle_timeout=30), "warning", "idle connections"),
    ("closes at times", changed("clients", idle_timeout=300), "note", "idle connections"),
    ("no keepalive", changed("clients", keepalive=0), "warning", "idle connections"),
    ("others take", changed("clients", strangers=(STRANGER,)), "warning", "other consumers"),
    ("others unseen", UNSEEN, "note", "other consumers"),
    ("entries vanished", counted(counters={"stolen": 3}), "note", "other consumers"),
    ("entries are missed", changed("queue", lanes=(replace(LANE, suspects=2),)), "note", "other consumers"),
    ("no rights", changed("rights", forbidden=("HSET x",)), "problem", "rights"),
    ("replays as nobody", changed("rights", replay=("+@all",)), "problem", "user of the AOF"),
    ("no scripts", changed("rights", scripts="unknown flag"), "problem", "scripts"),
    ("another schema", changed("queue", schema="0"), "problem", "schema"),
    ("came back empty", changed("queue", emptied_ms=FACTS.queue.now_ms - 60_000, lost=3), "problem", "data"),
    ("dead letters", counted(dead=2), "warning", "dead letters"),
    ("unreadable", counted(unreadable=2), "warning", "unreadable entries"),
    ("waits long", waiting(LONG), "warning", "waiting tasks"),
    ("silent", changed("queue", members=(replace(MEMBER, beat_ago_ms=16_000),)), "warning", "workers of all hosts"),
    ("not vouched for", changed("queue", members=(replace(MEMBER, vouched_ago_ms=None),)), "warning", "stewards"),
    ("vouched for long ago", changed("queue", members=(FORGOTTEN,)), "warning", "stewards"),
    ("no list", changed("queue", lanes=(replace(LANE, kind="string"),)), "problem", f"lane {QUEUE}"),
    ("pushed at the head", changed("queue", lanes=(replace(LANE, pushed_at_head=True),)), "warning", f"lane {QUEUE}"),
    ("all hosts are quiet", changed("queue", quiet=(Quiet("*", 400_000, "op@desk", "why"),)), "warning", "quiet hosts"),
    ("a host is quiet", changed("queue", quiet=(Quiet("a", 400_000, "op@desk", "why"),)), "warning", "quiet host a"),
    ("a replica that lags", followed(behind=17 << 20), "warning", "replication lag"),
    ("a replica that is silent", followed(silent_seconds=11), "warning", "replication lag"),
    ("a replica that is not in step", followed(state="wait_bgsave"), "warning", "replication lag"),
    ("slow commands", noted(SLOW, SLOW, SLOW), "warning", "slow log"),
    ("a slow command", noted(SLOW), "note", "slow log"),
    ("no slow log", noted(above_us=-1), "note", "slow log"),
    ("a slow log with a high bar", noted(above_us=10_000_000), "note", "slow log"),
    ("fragmented", occupying(500), "warning", "fragmentation"),
    ("swapped out", occupying(150), "warning", "fragmentation"),
    ("refused others", changed("clients", refused=3), "warning", "refused connections"),
    ("clocks apart", hosted(clock_ahead_ms=1021), "warning", "clocks"),
    ("versions differ", hosted(version="0.3"), "warning", "versions"),
    ("rights unseen", replace(FACTS, rights=None, unseen=(("rights", "no"),)), "problem", "rights"),
    ("settings unseen", replace(FACTS, unseen=(("settings", "no"),)), "note", "settings"),
]  # fmt: skip


@pytest.mark.parametrize(("facts", "level", "look"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_one_fact_out_of_order_is_one_finding(facts: StoreInfo, level: str, look: str) -> None:
    finding = only(facts)
    assert (finding.level, finding.look) == (level, look)
    assert finding.fix or level == "note"
    assert "\n" not in finding.found + finding.fix


REPLAYED = changed("rights", replay=("~*",))
BORDERS: list[tuple[str, StoreInfo]] = [
    ("replicas follow", followed()),
    ("slow long ago", noted(*[replace(SLOW, at_ms=1_000_000)] * 9)),
    ("slow, but not very", noted(*[replace(SLOW, took_ms=100.0)] * 9)),
    ("the slow log notes everything", noted(above_us=0)),
    ("a small server takes several times what it uses", changed("memory", resident=90 * MEBIBYTE)),
    ("hosts agree", hosted()),
    ("clocks a second apart", hosted(clock_ahead_ms=1020)),
    ("no steward has said either", hosted(version="", clock_ahead_ms=None)),
    ("Valkey counts anew", changed("server", engine="valkey", version="1.0.0")),
    ("7.0", changed("server", version="7.0.0")),
    ("80 %", changed("memory", used=80 * MEBIBYTE)),
    ("no limit", changed("memory", used=500 * MEBIBYTE, limit=0)),
    ("10 ms", changed("timing", round_trips_ms=tuple([10.0] * 50))),
    ("Valkey replays an AOF without rights", replace(REPLAYED, server=replace(FACTS.server, engine="valkey"))),
    ("AOF and fsync unseen", changed("persistence", fsync=None, save=None)),
    ("ours are among the connected", changed("clients", connected=60, most=60)),
    ("settings unseen", changed("clients", idle_timeout=None, keepalive=None)),
    ("new queue", changed("queue", schema=None)),
    ("came back empty long ago", changed("queue", emptied_ms=FACTS.queue.now_ms - 90_000_000, lost=3)),
    ("at the lease", changed("queue", members=(replace(MEMBER, beat_ago_ms=15_000),))),
    ("too new to be vouched for", changed("queue", members=(replace(MEMBER, beats=2, vouched_ago_ms=None),))),
    ("waits a little", counted(states={State.SUBMITTED: 5}, oldest_ms=999_000)),
    ("empty lane", changed("queue", lanes=(replace(LANE, kind="none"),))),
]


@pytest.mark.parametrize("facts", [row[1] for row in BORDERS], ids=[row[0] for row in BORDERS])
def test_what_is_just_in_order_is_in_order(facts: StoreInfo) -> None:
    assert amiss(facts) == []


def test_a_server_on_this_machine_needs_no_keepalive() -> None:
    assert amiss(replace(changed("clients", keepalive=0), url="unix:///run/redis.sock")) == []


def advice(facts: StoreInfo) -> list[str]:
    return [each.fix for each in judge(facts, EXPECTED) if each.look == "waiting tasks"]


BOUND = LimitOrder(asked="3")


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (waiting(LONG), "run more workers"),
        (waiting(replace(LONG, limit=BOUND, closed="limit")), "its limit of running tasks, 3"),
        (waiting(replace(LONG, closed="rate")), "at its rate: supervisor lanes set mail"),
        (waiting(replace(LONG, entries=0, held=5)), "limit of a key or the rate of a handler"),
        (waiting(LONG, quiet=(Quiet("*", 400_000, "op@desk", "why"),)), "supervisor resume"),
    ],
)
def test_the_advice_for_tasks_that_wait_long_fits_its_cause(facts: StoreInfo, told: str) -> None:
    (fix,) = advice(facts)
    assert told in fix


@pytest.mark.parametrize(
    "lane",
    [
        replace(LONG, paused_since_ms=500_000, paused_because="down"),
        replace(LONG, workers=0),
        replace(LONG, missing={"send": 5}),
    ],
)
def test_tasks_that_wait_for_something_else_than_workers_ask_for_no_workers(lane: LaneState) -> None:
    assert advice(waiting(lane)) == [""]
    assert amiss(waiting(lane)) != []


def test_pushes_at_the_wrong_end_are_told_of_every_lane() -> None:
    lane = LaneState("mail", entries=1, held=0, running=0, oldest_ms=None, workers=1, wrong_end=2, wrong_end_ms=990_000)
    assert amiss(changed("queue", states=(lane,))) == [("warning", "lane mail")]


def test_tasks_that_wait_without_workers_are_told() -> None:
    facts = counted(workers=0, states={State.SUBMITTED: 1})
    facts = replace(facts, queue=replace(facts.queue, members=()))  # type: ignore[type-var]  # it is there
    assert amiss(facts) == [("problem", "waiting tasks"), ("note", "workers of all hosts")]


@pytest.mark.parametrize(
    ("error", "running", "embedded", "level"),
    [
        (StoreUnavailableError("away"), False, False, "problem"),
        (StoreUnavailableError("away"), True, True, "problem"),
        (StoreUnavailableError("away"), False, True, "note"),
        (StoreRefusedError("wrong password"), False, False, "problem"),
    ],
)
def test_a_silent_store_is_a_problem_unless_nobody_was_to_run_it(
    error: Any, running: bool, embedded: bool, level: str
) -> None:
    [finding] = judge(error, replace(EXPECTED, running=running, embedded=embedded))
    assert finding.level == level
