"""The two readers of foreign envelopes, that of the scripts and that of the workers, are held against each other."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import store
from holdfast.core.envelope import Run, UnreadableError, read
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio

ENVELOPES = 5000
MAX = 1 << 20
NAME_BYTES = 800
PART = Path(store.__file__).parent / "lua/shared/envelope.lua"
READ_ALL = """
local understand, answers = envelope_reader(), {}
for i, raw in ipairs(ARGV) do
  local verb, id, message, name = understand(raw)
  answers[i] = verb and {verb, id, message, name} or {'', id}
end
return answers
"""
REFUSED = ("", "", "", "")
ABSENT = object()
ODD: tuple[object, ...] = (  # values that may stand anywhere
    None,
    ABSENT,
    "",
    0,
    7,
    -1,
    1.5,
    True,
    False,
    [],
    {},
    [None],
    {"a": None},
    "x",
    "größe",
    "\x00",
)

Read = tuple[str, str, str, str]


def _pick(dice: random.Random, *usual: object) -> object:
    return dice.choice(usual) if dice.random() < 0.8 else dice.choice(ODD)


def _object(dice: random.Random, **fields: object) -> dict[str, object]:
    kept = [(name, value) for name, value in fields.items() if value is not ABSENT]
    dice.shuffle(kept)
    return dict(kept)


def _message(dice: random.Random) -> object:
    data = _object(
        dice,
        name=_pick(dice, "mail", "x" * 801, "größe"),
        kwargs=_pick(dice, {}, {"a": 1}, {"a": None}),
    )
    part = _object(dice, kind=_pick(dice, "data", "text"), data=_pick(dice, data, None), text=_pick(dice, "hi", ABSENT))
    parts = [_pick(dice, part) for _ in range(dice.randrange(3))]
    made = _object(
        dice,
        message_id=_pick(dice, "m1", None, ABSENT, "a|b", "x" * 65, "ü"),
        parts=_pick(dice, parts, ABSENT),
        role=_pick(dice, "user", ABSENT),
        content=_pick(dice, "text", ABSENT),
    )
    return _pick(dice, made)


def envelope(dice: random.Random) -> bytes:
    """One that is odd in a few places, in either form or in a mixture of both."""
    verbs = ("run", "run", "resume", "cancel", "pause", "explode")
    params = {
        "task_id": _pick(dice, "t1", "a b", "x" * 128, "x" * 129),
        "message": _pick(dice, _message(dice), ABSENT, None),
        "messages": _pick(dice, [_message(dice) for _ in range(dice.randrange(3))], ABSENT, None),
    }
    if dice.random() < 0.5:
        fields = {"operation": _pick(dice, *verbs), "params": _pick(dice, _object(dice, **params))}
        fields["type"] = _pick(dice, ABSENT, None, "run")
    else:
        fields = {"type": _pick(dice, *verbs), "operation": _pick(dice, ABSENT, None), **params}
        fields["params"] = _pick(dice, ABSENT, None, {"task_id": "t2"})
    made = _object(dice, **fields)
    return json.dumps(
        _pick(dice, made, made, made, made, made, made), ensure_ascii=dice.random() < 0.5, default=str
    ).encode()


def by_worker(raw: bytes) -> Read:
    try:
        operation = read(raw, MAX)
    except UnreadableError:
        return REFUSED
    if isinstance(operation, Run):
        verb = "resume" if operation.resumes else "run"
        name = operation.name or ""  # scripts keep no name that is too long for one: nobody serves it
        return verb, operation.task_id, operation.message_id, name if len(name.encode()) <= NAME_BYTES else ""
    return operation.verb, operation.task_id, "", ""


@pytest.fixture
def beneath(request: pytest.FixtureRequest) -> str:
    """The text that the store in memory puts before each script; empty for a server."""
    is_server = request.node.callspec.params["space"] == "server"
    return "" if is_server else (Path(store.__file__).parent / "memory/beneath.lua").read_text()


async def by_scripts(space: Namespace, beneath: str, envelopes: list[bytes]) -> list[Read]:
    answers = await space.do("EVAL", beneath + PART.read_text() + READ_ALL, 0, *envelopes)
    read_all: list[Read] = []
    for each in answers:
        verb, *rest = (part.decode() for part in each)
        read_all.append((verb, rest[0], rest[1], rest[2]) if verb else REFUSED)
    return read_all


def odd_ones() -> Iterator[bytes]:
    dice = random.Random(30)
    return (envelope(dice) for _ in range(ENVELOPES))


async def test_what_both_read_is_the_same_and_scripts_refuse_nothing_that_workers_read(
    space: Namespace, beneath: str
) -> None:
    envelopes = list(odd_ones())
    found = await by_scripts(space, beneath, envelopes)
    counts = {"both": 0, "workers refuse": 0, "neither": 0}
    for raw, scripts in zip(envelopes, found, strict=True):
        worker = by_worker(raw)
        if worker == REFUSED:
            counts["workers refuse" if scripts[0] else "neither"] += 1
        else:
            counts["both"] += 1
            assert scripts == worker, raw
    assert min(counts.values()) > ENVELOPES // 50, counts
