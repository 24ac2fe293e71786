"""Judgements of a snapshot of a queue: each row damages a sound one, and the damage is found."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from holdfastd.doctor import queue_snapshot
from holdfastd.doctor.finding import Finding
from holdfastd.doctor.queue_snapshot import QueueSnapshot

QUEUE = "bindu:tasks"
PREFIX = f"{{{QUEUE}}}:"
Keys = dict[str, Any]

SOUND: Keys = {
    "task:a": {"state": "working", "owner": "w", "claim": "1:w:2"},
    "task:b": {"state": "submitted", "lane": QUEUE, "seq": "5"},
    "task:c": {"state": "completed"},
    "task:d": {"state": "suspended"},
    "task:e": {"state": "delayed"},
    "op:b": "{}",
    "result:c:1": "done",
    "worker:w": {"state": "live"},
    "worker:w:running": {"a": "1:w:2"},
    "workers": {"w": "1"},
    f"submitted:{QUEUE}": {"b": "5"},
    "finished": {"c": "9"},
    "parked": {"d": "9"},
    "due": {"e": "9"},
    "tally": {"completed": "1", "suspended": "1"},
    "control:dead": ["x"],
}
LANE = ['{"_b":"b:5","operation":"run"}', "foreign"]


def snapshot(keys: Keys, lane: list[str]) -> QueueSnapshot:
    held = {
        PREFIX + key: {"content": content, "ttl": 5 if key == "control:dead" else -1} for key, content in keys.items()
    }
    return QueueSnapshot.of(held | {QUEUE: {"content": lane, "ttl": -1}}, QUEUE)


def judged(keys: Keys, lane: list[str] | None = None) -> list[Finding]:
    seen = snapshot(keys, LANE if lane is None else lane)
    findings = [*queue_snapshot.judge_invariants(seen), *queue_snapshot.judge_orphan_keys(seen, PREFIX)]
    return [finding for finding in findings if finding.level != "ok"]


def test_in_a_sound_queue_nothing_is_found() -> None:
    assert judged(SOUND) == []


DAMAGE: dict[str, tuple[Callable[[Keys], Any], str, str]] = {
    "the claim of another": (lambda keys: keys["task:a"].update(claim="9"), "problem", "task a is working"),
    "nobody runs it": (lambda keys: keys.pop("worker:w:running"), "problem", "task a is working"),
    "what runs has no record": (lambda keys: keys["worker:w:running"].update(z="1"), "problem", "task z runs"),
    "its worker is dead": (lambda keys: keys["worker:w"].update(state="dead"), "problem", "worker w is dead"),
    "no index": (lambda keys: keys["due"].pop("e"), "problem", "task e is delayed and stands in: no index"),
    "two indexes": (lambda keys: keys["parked"].update(c="1"), "problem", "stands in: finished, parked"),
    "an index without its task": (lambda keys: keys["due"].update(z="1"), "problem", "task z, which has no record"),
    "an end that is claimed": (lambda keys: keys["task:c"].update(owner="w"), "problem", "a worker still has it"),
    "a wrong count": (lambda keys: keys["tally"].update(completed="7"), "problem", "1 tasks are completed"),
    "a part of no task": (lambda keys: keys.update({"trail:z": []}), "warning", "trail:z"),
    "a result of no task": (lambda keys: keys.update({"result:z:1": ""}), "warning", "result:z:1"),
    "a part of no worker": (lambda keys: keys.update({"worker:v:inbox": []}), "warning", "worker:v:inbox"),
    "a webhook that nobody sends": (lambda keys: keys.update({"webhook:z": {}}), "warning", "webhook:z"),
    "a key of a later version": (lambda keys: keys.update({"novel:z": ""}), "note", "novel:z"),
}


@pytest.mark.parametrize(("damage", "level", "words"), DAMAGE.values(), ids=DAMAGE)
def test_one_damage_is_one_finding(damage: Callable[[Keys], Any], level: str, words: str) -> None:
    keys = deepcopy(SOUND)
    damage(keys)
    [finding] = judged(keys)
    assert finding.level == level
    assert words in finding.found
    assert finding.fix


def test_a_submitted_task_without_an_entry_is_found_unless_it_stands_beside_its_lane() -> None:
    [finding] = judged(SOUND, lane=["foreign"])
    assert "task b is submitted and has no entry" in finding.found
    held = SOUND | {"task:b": SOUND["task:b"] | {"held": "1"}}
    assert judged(held, lane=[]) == []


def test_where_there_is_no_snapshot_one_note_says_why() -> None:
    [note] = queue_snapshot.judge_invariants("the store holds 99 MiB")
    assert (note.level, list(queue_snapshot.judge_orphan_keys("the store holds 99 MiB", PREFIX))) == ("note", [])
    assert "99 MiB" in note.found
