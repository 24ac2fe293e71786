"""I16, I17: permits are the running tasks, no more and no fewer; who waits at a gate is where it is looked for.

I16 of a lane with a limit, and of each concurrency key, the set of permits holds what runs, within the bound.
I17 a held task is submitted, in the gate it names and nowhere else; a gate that is closed for good has a task running
whose end opens it, and a lane that a rate has closed has an alarm. The lanes that are served from their tails are those
that the rules name.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.lua.view import View


def bound_of(view: View, bound: str, subject: str) -> str:
    """The bound in force, empty for none."""
    rules: dict[str, Any] = view.index("rules")
    value: str = rules.get(f"asked:{bound}:{subject}") or rules.get(f"set:{bound}:{subject}", "").partition("@")[0]
    return "" if value == "none" else value


def held_at(lane: str, gate: str) -> str:
    """The key of those who wait there."""
    return f"held:{len(lane.encode())}:{lane}:{gate}"


def gates_breaches(view: View) -> Iterator[str]:
    yield from _permits_of_lanes(view)
    yield from _permits_of_keys(view)
    yield from _held(view)
    yield from _gates(view)
    yield from _unknown(view)
    yield from _turned(view)


def _unknown(view: View) -> Iterator[str]:
    """The gates of handlers: each is known with its lowest number, is looked after, and nobody there is charged."""
    lanes = {name.removeprefix("unknown:") for name in view.rest if name.startswith("unknown:")}
    found = {
        held_at(lane, f"unknown:{name}"): at for lane in lanes for name, at in view.index(f"unknown:{lane}").items()
    }
    held = {name: view.index(name) for name in view.rest if name.startswith("held:") and ":unknown:" in name}
    expected = {name: math.floor(min(map(float, tasks.values()))) for name, tasks in held.items()}
    if {name: math.floor(float(at)) for name, at in found.items()} != expected:
        yield f"I17 gates of handlers hold {expected}, the lanes know {found}"
    looked_after = {f"{lane} {name}" for lane in lanes for name in view.index(f"unknown:{lane}")}
    if set(view.index("unserved")) != looked_after or not set(view.index("clocks")) <= looked_after:
        yield f"I17 gates of handlers are {looked_after}, those looked after {view.index('unserved')}"


def _turned(view: View) -> Iterator[str]:
    subjects = {field.split(":", 2)[2] for field in view.index("rules") if field.split(":")[1] == "end"}
    wanted = {lane for lane in subjects if bound_of(view, "end", lane) == "tail"}
    if wanted != set(view.items("turned")):
        yield f"I17 turned are {view.items('turned')}, the rules say {sorted(wanted)}"


def _permits_of_lanes(view: View) -> Iterator[str]:
    running: dict[str, set[str]] = defaultdict(set)
    for task_id, task in view.tasks.items():
        if task["state"] == "working":
            running[task["lane"]].add(task_id)
    lanes = {name.removeprefix("active:") for name in view.rest if name.startswith("active:")}
    for lane in lanes | running.keys():
        limit, permits = bound_of(view, "limit", lane), set(view.items(f"active:{lane}"))
        if permits != (running[lane] if limit else set()):
            yield f"I16 in {lane} runs {sorted(running[lane])}, limit {limit!r}, permits {sorted(permits)}"
        if limit and len(running[lane]) > int(limit):
            yield f"I16 in {lane} run {len(running[lane])}, limit {limit}"


def _permits_of_keys(view: View) -> Iterator[str]:
    running: dict[str, set[str]] = defaultdict(set)
    for task_id, task in view.tasks.items():
        if task["state"] == "working" and task.get("concurrency_key"):
            running[task["concurrency_key"]].add(task_id)
    keys = {name.removeprefix("keyed:") for name in view.rest if name.startswith("keyed:")}
    for key in keys | running.keys():
        if set(view.items(f"keyed:{key}")) != running[key]:
            yield f"I16 with key {key} runs {sorted(running[key])}, permits {view.items(f'keyed:{key}')}"
        most = max((int(bound_of(view, "keys", view.tasks[one]["lane"]) or 1) for one in running[key]), default=1)
        if len(running[key]) > most:
            yield f"I16 with key {key} run {len(running[key])}, bound {most}"


def _held(view: View) -> Iterator[str]:
    expected: dict[str, set[str]] = defaultdict(set)
    for task_id, task in view.tasks.items():
        if gate := task.get("held"):
            expected[held_at(task["lane"], gate)].add(task_id)
            if task["state"] != "submitted":
                yield f"I17 {task_id} is {task['state']} and held at {gate}"
    found = {name: set(view.index(name)) for name in view.rest if name.startswith("held:")}
    if found != expected:
        yield f"I17 tasks say they are held in {dict(expected)}, the gates hold {found}"


def _gates(view: View) -> Iterator[str]:
    gated: set[str] = set()
    for name in view.rest:
        if not name.startswith("gates:"):
            continue
        lane = name.removeprefix("gates:")
        gated.add(lane)
        for gate, at in view.index(name).items():
            if not view.index(held_at(lane, gate)):
                yield f"I17 nobody waits at gate {gate} of {lane}"
            bound = int(bound_of(view, "keys", lane) or 1)
            if math.isinf(float(at)) and len(view.items(f"keyed:{gate.removeprefix('key:')}")) < bound:
                yield f"I17 gate {gate} of {lane} is closed for good, and nothing runs that opens it"
    held = {name for name in view.rest if name.startswith("held:") and ":unknown:" not in name}
    gates = {(lane, gate) for lane in gated for gate in view.index(f"gates:{lane}")}
    known = {held_at(lane, gate) for lane, gate in gates}
    if held != known:
        yield f"I17 held {sorted(held)}, gates {sorted(known)}"
    if set(view.items("gated")) != gated:
        yield f"I17 gated says {view.items('gated')}, gates are in {sorted(gated)}"
    for lane, why in view.index("closed").items():
        if why == "rate" and lane not in view.index("alarms"):
            yield f"I17 {lane} is closed by its rate and has no alarm"
        if why == "paused" and f"paused:{lane}" not in view.index("rules"):
            yield f"I17 {lane} is closed and not paused"
