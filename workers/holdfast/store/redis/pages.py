"""Pages of lists: their rows, and the cursors between them, each one word."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from holdfast.core.plain_json import shown
from holdfast.core.tasks import Page, TaskRecord, TextSearch
from holdfast.errors import InvalidTaskError, UnreadableRecordError
from holdfast.store.redis.decode import task_record

WIDTH = 4  # items of one row
WIDTH_OF_FOUND = 6  # with operation and result
DIGITS = 15  # of a position


def read_cursor(cursor: str) -> str:
    """The place in a cursor, as the script wrote it: index, score, id. Raises InvalidTaskError."""
    try:
        place = urlsafe_b64decode(cursor.encode()).decode()
    except ValueError:
        place = "unreadable"
    if cursor and not _is_place(place):
        raise _strange(cursor)
    return place


def _is_place(place: str) -> bool:
    index, *rest = place.split("\n")
    return len(rest) == 2 and index[:1] in set("123456") and rest[0].isdigit()


def read_position(cursor: str) -> int:
    """The number of rows listed before, in lists by rank. Raises InvalidTaskError."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) <= DIGITS):
        raise _strange(cursor)
    return int(cursor or 0)


def _strange(cursor: str) -> InvalidTaskError:
    return InvalidTaskError(f"cursor {shown(cursor)}: the cursor of the page before is expected, or none to begin")


def page(answer: list[Any], width: int = WIDTH) -> Page:
    cursor, searched, *items = answer
    tasks, unreadable = readable(_row(*items[start : start + width]) for start in range(0, len(items), width))
    return Page(tasks, urlsafe_b64encode(cursor).decode(), unreadable, searched)


def page_of_found(answer: list[Any], search: TextSearch) -> Page:
    """The matching tasks among those that may contain the text, without payloads."""
    read = page(answer, WIDTH_OF_FOUND)
    found = (replace(task, operation=None, result=None) for task in read.tasks if search.fits(task))
    return replace(read, tasks=tuple(found))


def _row(
    task_id: bytes, record: list[bytes], dead: int, pending: int, operation: bytes = b"", result: bytes = b""
) -> tuple[bytes, list[Any]]:
    return task_id, [record, dead, pending, [], operation, result, b"", []]


def readable(rows: Iterable[tuple[bytes, list[Any]]]) -> tuple[tuple[TaskRecord, ...], tuple[str, ...]]:
    """The tasks of these answers, and the ids of unreadable records: one of these must not hide the other tasks."""
    tasks: list[TaskRecord] = []
    unreadable: list[str] = []
    for raw, answer in rows:
        task_id = raw.decode(errors="backslashreplace")
        try:
            tasks.append(task_record(task_id, answer))
        except UnreadableRecordError:
            unreadable.append(task_id)
    return tuple(tasks), tuple(unreadable)
