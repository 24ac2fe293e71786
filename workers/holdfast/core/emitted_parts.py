"""The parts of an answer that a running task emits, and the batches in which they go to the store."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

LONGEST_PART = 65536  # bytes of JSON

_values = msgspec.json.Decoder(list[Any]).decode


@dataclass(frozen=True, slots=True)
class EmittedPart:
    """One value that a handler has emitted.

    `position` counts the parts of the task, from 1; a gap means that parts are not kept any more. `run`: the number of
    the run that emitted it. If it is higher than in the part before, the task began anew. `at_ms`: when it reached the
    store, by the store's clock.
    """

    position: int
    run: int
    value: Any
    at_ms: int


class EmittedBatch(msgspec.Struct, frozen=True, gc=False):
    """Parts of one run on their way to the store. `number`: the number of the first part in its run, from 1. `values`:
    a JSON array."""

    task_id: str
    claim: str
    run: int
    number: int
    count: int
    values: bytes


class EmitVerdict(StrEnum):
    """The store's answer to a batch."""

    OK = "OK"
    LOST = "LOST"  # the claim is no longer the task's latest: nothing was kept
    DAMAGED = "DAMAGED"  # the key of the task's parts holds something else


@dataclass(frozen=True, slots=True)
class PartsPage:
    """The parts of a task behind a position. `state` of the task, empty for an unknown one. `last`: the position of the
    last kept part. `is_whole`: no more parts follow these."""

    state: str
    last: int
    is_whole: bool
    parts: tuple[EmittedPart, ...]


def read_batch(text: bytes) -> list[EmittedPart]:
    """Reads parts from a text of the store. Raises ValueError if Holdfast did not write the text."""
    head, _, values = text.partition(b"\n")
    last, _, run, _, at_ms = map(int, head.split()[:5])
    read = _values(values)
    first = last - len(read) + 1
    return [EmittedPart(first + place, run, value, at_ms) for place, value in enumerate(read)]
