"""Decodes the answers of the Lua operations, and the cursors of lists."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import unquote

from holdfast.core.activity import Happening
from holdfast.core.identity import sha1_hex
from holdfast.core.lanes import UnreadableEntry
from holdfast.core.outcomes import ParentResult
from holdfast.core.plain_json import shown
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, TaskOutline, TaskRecord, TextSearch
from holdfast.core.trail import TOLD_TOGETHER
from holdfast.core.worker_records import WorkerKind, WorkerRecord
from holdfast.errors import InvalidTaskError, UnreadableRecordError

T = TypeVar("T")


def pairs(flat: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """`key value key value …` as pairs."""
    items = iter(flat)
    for key in items:
        yield key.decode(), next(items)


def task_record(task_id: str, answer: list[Any]) -> TaskRecord:
    """Decode the record of a task. Raises UnreadableRecordError if a field is missing or has an impossible value."""
    try:
        return _task_record(task_id, answer)
    except KeyError as error:
        raise UnreadableRecordError(
            f"the record of task {task_id!a} cannot be read: it has no field {error.args[0]}"
        ) from None
    except (ValueError, OverflowError) as error:
        raise UnreadableRecordError(f"the record of task {task_id!a} cannot be read: {error}") from None


def _task_record(task_id: str, answer: list[Any]) -> TaskRecord:
    flat, dead, pending, trail, operation, result, checkpoint, parents = answer
    fields = {name: value.decode() for name, value in pairs(flat)}

    def number(name: str) -> int:
        try:
            return int(float(fields.get(name) or 0))
        except (ValueError, OverflowError):
            raise ValueError(f"its field {name} has the value {fields[name][:80]!a}") from None

    if (state := state_of(fields["state"].encode())) is None:
        raise ValueError(f"its field state has the value {fields['state'][:80]!a}")
    return TaskRecord(
        task_id=task_id,
        state=state,
        lane=fields["lane"],
        turn=number("turn"),
        message_id=fields["message"],
        name=fields.get("name", ""),
        origin=fields["origin"],
        created_ms=number("created"),
        due_ms=number("due") or None,
        finished_ms=number("finished") or None,
        deliveries=number("delivery"),
        runs=max(0, number("delivery") - number("unbegun")),
        attempts=number("attempts"),
        crashes=number("crashes"),
        releases=number("releases"),
        owner=fields.get("owner", ""),
        claim=fields.get("claim", ""),
        solo=fields.get("solo") == "1",
        progress=fields.get("progress", ""),
        reason=fields.get("reason", ""),
        dead=dead == 1,
        operation=operation or None,
        result=result or None,
        checkpoint=checkpoint or None,
        pending=pending,
        trail=_lines(trail),
        max_attempts=number("max_attempts") or None,
        retry_of=fields.get("retry_of", ""),
        retried_as=fields.get("retried_as", ""),
        refused=fields.get("refused", ""),
        duplicate_of=fields.get("duplicate_of", ""),
        waits_for=tuple(sorted(parent.decode() for parent in parents)),
        if_parent_fails=fields.get("if_parent_fails", ""),
        expires_ms=number("expires") or None,
        batch=fields.get("batch", "").rpartition(" ")[2],
        is_callback=fields.get("batch", "").startswith("0 "),
        error_kind=fields.get("error", "").partition(" ")[0],
    )


def outline(operation: bytes, trail: Sequence[bytes]) -> TaskOutline:
    return TaskOutline(operation, _lines(trail))


def _lines(trail: Sequence[bytes]) -> tuple[str, ...]:
    return tuple(line.decode(errors="replace") for line in trail)


def known_word(words: Mapping[str, T], task_id: str, answer: bytes) -> T:
    """Decode an answer about a task. Raises UnreadableRecordError for an unknown word: the task's state is damaged."""
    word = answer.decode(errors="replace")
    if word not in words:
        raise UnreadableRecordError(
            f"the record of task {task_id!a} cannot be read: its field state has the value {word[:80]!a}"
        )
    return words[word]


def state_of(word: bytes) -> State | None:
    """The state with this name; None if there is no such state, because the record is damaged."""
    known = word.decode(errors="replace")
    return State(known) if known in tuple(State) else None


def parent_result(
    task_id: bytes, state: bytes, has_ended: int, reason: bytes, document: bytes, size: int
) -> ParentResult:
    return ParentResult(
        task_id.decode(),
        state_of(state),
        has_ended == 1,
        reason.decode(errors="replace"),
        document or None,
        size,
    )


def worker_record(
    incarnation: str, fields: Mapping[str, bytes], running: Sequence[bytes], beat_ago_ms: int
) -> WorkerRecord:
    def text(name: str) -> str:
        return fields.get(name, b"").decode(errors="replace")

    return WorkerRecord(
        incarnation=incarnation,
        state=text("state"),
        host=text("host"),
        pid=int(text("pid") or 0),
        slot=int(text("slot") or 0),
        running=tuple(task_id.decode() for task_id in running),
        beat_ago_ms=max(0, beat_ago_ms),
        cause=text("cause"),
        died_ms=int(text("died") or 0) or None,
        held=tuple(text("held").split()),
        quiet=text("quiet") == "1",
        kind=text("kind") or WorkerKind.WORKER,
        concurrency=int(text("concurrency") or 0) or None,
    )


def happenings(entry: list[Any]) -> Iterator[Happening]:
    """The events of one entry of the stream, in their order: one for each task that it names."""
    position, flat = entry
    fields = {name: value.decode(errors="replace") for name, value in pairs(flat)}
    event, subject, detail = (fields.get(name, "") for name in ("event", "id", "detail"))
    for named in subject.split(" ") if event in TOLD_TOGETHER else [subject]:
        yield Happening(position.decode(), event, named, detail)


def unreadable(item: bytes) -> UnreadableEntry:
    at, place, reason, raw = item.split(b"|", 3)
    size, _, lane = place.partition(b"@")
    return UnreadableEntry(
        reason=reason.decode(errors="replace"),
        at_ms=int(at),
        size=int(size),
        raw=raw,
        address=f"{int(at)}-{sha1_hex(item)[:8]}",
        lane=unquote(lane.decode(errors="replace")),
    )


def _plain(content: Any) -> Any:
    match content:
        case bytes():
            return content.decode(errors="surrogateescape")
        case list():
            return [_plain(item) for item in content]  # pyright: ignore[reportUnknownVariableType] - nested answers
        case _:
            return content


def snapshot(answer: list[Any]) -> dict[str, object]:
    """The keys of a snapshot as a dict: key → {type, ttl, content}. Hashes and sorted sets become dicts, streams lists
    of dicts."""
    taken: dict[str, object] = {}
    for i in range(0, len(answer), 4):
        key, kind, ttl, content = (_plain(item) for item in answer[i : i + 4])
        if kind in {"hash", "zset"}:
            content = dict(zip(content[::2], content[1::2], strict=True))
        elif kind == "stream":
            content = [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in content]
        taken[key] = {"type": kind, "ttl": ttl, "content": content}
    return taken


# Pages of lists: their rows, and the cursors between them, each one word.

WIDTH = 4  # items of one row
WIDTH_OF_FOUND = 6  # with operation and result
DIGITS = 15  # of a position


def read_cursor(cursor: str) -> str:
    """Decode the cursor of a list or a search. The answer is index, score and id, as the script wrote them. Raises
    InvalidTaskError."""
    try:
        place = urlsafe_b64decode(cursor.encode()).decode()
    except ValueError:
        place = "unreadable"
    if cursor and not _is_place(place):
        raise _strange(cursor)
    return place


def _is_place(place: str) -> bool:
    index, *rest = place.split("\n")
    return len(rest) == 2 and index[:1] in set("1234567") and rest[0].isdigit()


def read_position(cursor: str) -> int:
    """Decode the cursor of a list: the number of rows on the pages before. Raises InvalidTaskError."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= DIGITS):
        raise _strange(cursor)
    return int(cursor or 0)


def page_of(rows: list[T], start: int, limit: int) -> tuple[list[T], str]:
    """A page of a list, and the cursor of the next page (empty at the end). `rows`: read from `start` on, one more than
    the page has, if there are so many."""
    return rows[:limit], str(start + limit) if len(rows) > limit else ""


def _strange(cursor: str) -> InvalidTaskError:
    return InvalidTaskError(f"cursor {shown(cursor)}: give the cursor of the previous page, or none for the first page")


def page(answer: list[Any], width: int = WIDTH) -> Page:
    cursor, searched, *items = answer
    tasks, unreadable = readable(_row(*items[start : start + width]) for start in range(0, len(items), width))
    return Page(tasks, urlsafe_b64encode(cursor).decode(), unreadable, searched)


def page_of_found(answer: list[Any], search: TextSearch) -> Page:
    """A page of the tasks that match the search, without payloads. `answer`: the tasks that may contain the text."""
    read = page(answer, WIDTH_OF_FOUND)
    found = (replace(task, operation=None, result=None) for task in read.tasks if search.fits(task))
    return replace(read, tasks=tuple(found))


def _row(
    task_id: bytes, record: list[bytes], dead: int, pending: int, operation: bytes = b"", result: bytes = b""
) -> tuple[bytes, list[Any]]:
    return task_id, [record, dead, pending, [], operation, result, b"", []]


def readable(rows: Iterable[tuple[bytes, list[Any]]]) -> tuple[tuple[TaskRecord, ...], tuple[str, ...]]:
    """The tasks of these answers, and the ids of tasks whose records cannot be read. So one damaged record does not
    hide the other tasks."""
    tasks: list[TaskRecord] = []
    unreadable: list[str] = []
    for raw, answer in rows:
        task_id = raw.decode(errors="backslashreplace")
        try:
            tasks.append(task_record(task_id, answer))
        except UnreadableRecordError:
            unreadable.append(task_id)
    return tuple(tasks), tuple(unreadable)
