"""Errors of tasks that failed, grouped by handler, type and place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from holdfast.core.result_document import failure_in
from holdfast.core.tasks import TaskRecord

EXAMPLES = 3  # tasks that are named of one group
LONGEST_MESSAGE = 200

_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d+)', re.MULTILINE)
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen", "/holdfast/handler/", "/holdfast/worker/")


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """`place`: file and line of the innermost frame of the user's code, empty where none is known; `message`: of the
    last one."""

    handler: str
    type: str
    place: str
    count: int
    last_ms: int
    message: str
    examples: tuple[str, ...]


def error_groups(tasks: Iterable[TaskRecord], results: Mapping[str, bytes]) -> list[ErrorGroup]:
    """`tasks`: newest first; `results`: by their ids. The most frequent errors first."""
    groups: dict[tuple[str, str, str], list[tuple[TaskRecord, str]]] = {}
    for task in tasks:
        failure = failure_in(results.get(task.task_id))
        kind = (failure.type if failure else "") or str(task.state)
        message = (failure.message if failure else "") or task.reason
        place = place_of(failure.traceback) if failure else ""
        groups.setdefault((task.name, kind, place), []).append((task, message))
    return sorted(_made(groups), key=lambda group: (-group.count, -group.last_ms))


def _made(groups: Mapping[tuple[str, str, str], list[tuple[TaskRecord, str]]]) -> Iterator[ErrorGroup]:
    for (handler, kind, place), found in groups.items():
        newest, message = found[0]
        examples = tuple(task.task_id for task, _ in found[:EXAMPLES])
        last_ms = newest.finished_ms or newest.created_ms
        yield ErrorGroup(handler, kind, place, len(found), last_ms, message[:LONGEST_MESSAGE], examples)


def place_of(traceback: str) -> str:
    """The innermost frame that is neither of a library nor ours; else the innermost of all."""
    frames = [(found[1], found[2]) for found in _FRAME.finditer(traceback)]
    own = [frame for frame in frames if not any(part in frame[0] for part in _FOREIGN)]
    if not frames:
        return ""
    path, line = (own or frames)[-1]
    return f"{'/'.join(path.rsplit('/', 3)[-3:])}:{line}"
