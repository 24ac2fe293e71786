"""The requests of producers, from their acceptance until the ledger has read their effect.

A request waits, then it is given to Redis, and it is deleted in the transaction that ingests its effect. After a loss
of Redis, the remaining requests are given again, in order, so a request may be given twice. A request is also given
again if all events were read and none shows its effect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from holdfast.core.acceptance import Accepted, Submission
from holdfast.store.ledger import change_requests
from holdfast.store.ledger.change_requests import EnteredRequest
from holdfast.store.redis.ledger import PAGE_BYTES

_pack = msgspec.msgpack.Encoder().encode
_submission = msgspec.msgpack.Decoder(Submission).decode

# OFFSET 0: each is looked up by itself. Of a table that was never analyzed the planner would read a whole queue's rows.
_LEDGER = """
SELECT t.* FROM unnest($2::text[]) AS n (task_id), LATERAL (
    SELECT task_id, finished_ms, message_ids, digests, substring(pending FROM 1 FOR 5) AS pending FROM holdfast_tasks
    WHERE queue = $1 AND task_id = n.task_id OFFSET 0) AS t"""
_ENTER = """
INSERT INTO holdfast_requests (queue, verb, task_id, message_id, digest, content)
SELECT $1, $6, n.task_id, n.message_id, n.digest, n.content
FROM unnest($2::text[], $3::text[], $4::text[], $5::bytea[]) WITH ORDINALITY
    AS n (task_id, message_id, digest, content, place)
ORDER BY n.place
ON CONFLICT (queue, task_id, message_id) WHERE message_id <> '' AND refused IS NULL DO NOTHING
RETURNING task_id, message_id"""
_ENTERED = """
SELECT id, verb, task_id, message_id, digest, given IS NULL AS waits FROM holdfast_requests
WHERE queue = $1 AND task_id = ANY($2) AND refused IS NULL ORDER BY id"""
_ASK = "INSERT INTO holdfast_requests (queue, verb, task_id, content) VALUES ($1, $2, $3, $4) RETURNING id"
_GIVEN = "UPDATE holdfast_requests SET given = clock_timestamp() WHERE id = ANY($1)"
_PUT_OFF = """
UPDATE holdfast_requests r SET created = now() FROM holdfast_requests o
WHERE o.id = $1 AND r.queue = o.queue AND r.task_id = o.task_id AND r.id >= o.id
    AND r.given IS NULL AND r.refused IS NULL"""
_STILL_WAITING = """
SELECT DISTINCT task_id FROM holdfast_requests WHERE queue = $1 AND task_id = ANY($2) AND id <> ALL($3)
    AND verb = 'run' AND given IS NULL AND refused IS NULL"""
_REFUSED = "UPDATE holdfast_requests SET refused = $2 WHERE id = $1"
_DROP = "DELETE FROM holdfast_requests WHERE id = ANY($1)"
_WAITING = """
SELECT * FROM (SELECT *, sum(octet_length(content)) OVER (ORDER BY id) - octet_length(content) AS before,
    count(*) OVER () AS found FROM (
SELECT r.id, r.verb, r.content, r.task_id, r.message_id, t.finished_ms, r.message_id = ANY(t.message_ids) AS known,
    floor(extract(epoch FROM clock_timestamp() - r.created) * 1000)::bigint AS age_ms
FROM holdfast_requests r LEFT JOIN holdfast_tasks t ON t.queue = r.queue AND t.task_id = r.task_id
WHERE r.queue = $1 AND r.given IS NULL AND r.refused IS NULL AND r.verb <> 'change'
    AND r.created < clock_timestamp() - $2::float8 * interval '1 second'
ORDER BY r.id LIMIT $3) AS page) AS weighed WHERE before < $4 ORDER BY id"""
_CONFIRM = """
DELETE FROM holdfast_requests r USING holdfast_tasks t
WHERE r.queue = $1 AND r.task_id = ANY($2) AND r.refused IS NULL AND t.queue = r.queue AND t.task_id = r.task_id
    AND CASE WHEN r.message_id <> '' THEN r.message_id = ANY(t.message_ids) ELSE r.id <= t.asked END"""
_AGAIN = "UPDATE holdfast_requests SET given = NULL WHERE queue = $1 AND given IS NOT NULL AND refused IS NULL"
_LOST = """
UPDATE holdfast_requests SET given = NULL
WHERE queue = $1 AND given < now() - $2::float8 * interval '1 second' AND refused IS NULL"""
_COUNT = "SELECT count(*) FROM holdfast_requests WHERE queue = $1 AND given IS NULL AND refused IS NULL"


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission in the table. `word`: the answer to the producer, if the ledger knows it. `first`: the task is new
    to the ledger. `blocked`: earlier requests for the task still wait, and come first. `promised`: an earlier call has
    written the submission, so the producer may already have been told that it is accepted."""

    submission: Submission
    request: int = 0
    word: Accepted | None = None
    first: bool = False
    blocked: bool = False
    promised: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that Redis has not got yet. `ended`: the ledger knows that the task has ended. `known`: the ledger
    already has the message."""

    request: int
    verb: str
    task_id: str
    ended: bool
    known: bool
    submission: Submission | None
    reason: str


async def enter(
    sql: Any, queue: str, batch: Sequence[Submission], verb: str = "run", most_pending: int = 1000
) -> list[Entry]:
    """Accept these submissions, in the order of the list. Once this transaction is committed, they will reach Redis.

    `verb`: `run`, or `message` for messages to existing tasks. `most_pending`: the number of messages that may wait for
    one task; a message that is accepted here is not refused for that reason later.
    """
    ids = sorted({one.task_id for one in batch})
    await change_requests.lock_order(sql, queue, ids)
    parents = {parent for one in batch if one.options for parent in one.options.after}
    ledger = {row["task_id"]: row for row in await sql.fetch(_LEDGER, queue, ids)}
    answered = [(one, _known(ledger.get(one.task_id), one)) for one in batch]
    fresh = [one for one, word in answered if word is None]
    columns = zip(*((one.task_id, one.message_id, _digest(one), _pack(one)) for one in fresh), strict=True)
    new: set[tuple[str, str]] = set()
    if fresh:
        new = {(row["task_id"], row["message_id"]) for row in await sql.fetch(_ENTER, queue, *map(list, columns), verb)}
    entered: dict[str, list[Any]] = {task_id: [] for task_id in {*ids, *parents}}
    for row in await sql.fetch(_ENTERED, queue, list(entered)):
        entered[row["task_id"]].append(row)
    mine = {(one.task_id, one.message_id) for one in fresh}
    entries = [Entry(one, word=word) if word else _entry(one, entered, ledger, mine, new) for one, word in answered]
    full = [_is_new(each) and _is_full(each, entered, ledger, most_pending) for each in entries]
    await drop(sql, [each.request for each, no_room in zip(entries, full, strict=True) if no_room])
    return [replace(each, word=Accepted.FULL) if no_room else each for each, no_room in zip(entries, full, strict=True)]


async def ask(sql: Any, queue: str, verb: str, task_id: str, reason: str) -> EnteredRequest:
    """Accept a request for a task. If the same request already waits, no second one is written."""
    await change_requests.lock_order(sql, queue, [task_id])
    waiting = [row for row in await sql.fetch(_ENTERED, queue, [task_id]) if row["waits"]]
    if waiting and waiting[-1]["verb"] == verb:
        return EnteredRequest(waiting[-1]["id"], len(waiting) > 1)
    content = reason.encode("utf-8", "surrogatepass")
    return EnteredRequest(await sql.fetchval(_ASK, queue, verb, task_id, content), bool(waiting))


async def given(sql: Any, requests: Sequence[int]) -> None:
    await sql.execute(_GIVEN, list(requests))


async def put_off(sql: Any, request: int) -> None:
    """Move this request and the later ones for its task to the end of the waiting requests, as if they were new. So
    they do not hold up other requests."""
    await sql.execute(_PUT_OFF, request)


async def still_waiting(sql: Any, queue: str, task_ids: Collection[str], ours: Collection[int]) -> set[str]:
    """The tasks in this list whose submissions are not in Redis yet. `ours`: requests that are not considered."""
    return {row["task_id"] for row in await sql.fetch(_STILL_WAITING, queue, list(task_ids), list(ours))}


async def refused(sql: Any, request: int, word: str) -> None:
    """Mark a request that Redis has refused. The row stays, so that callers can still ask for the request's outcome."""
    await sql.execute(_REFUSED, request, word)


async def drop(sql: Any, requests: Sequence[int]) -> None:
    await sql.execute(_DROP, list(requests))


async def confirm(sql: Any, queue: str, task_ids: Sequence[str]) -> None:
    """Delete the requests for these tasks whose effect the ledger has now read."""
    await sql.execute(_CONFIRM, queue, list(task_ids))


async def give_again(sql: Any, queue: str) -> None:
    """Mark all unconfirmed requests to be given again, because Redis has lost data."""
    await sql.execute(_AGAIN, queue)


async def give_lost_again(sql: Any, queue: str, given_before: float) -> None:
    """Mark lost requests to be given to Redis again. Call this in a transaction that has read all events in Redis.

    A request is lost if it was given to Redis more than `given_before` seconds ago, and no event shows its effect. This
    happens if Redis was set back to the last event that the ledger had read.
    """
    await sql.execute(_LOST, queue, given_before)


async def waiting(sql: Any, queue: str, older_than: float, limit: int) -> tuple[list[Waiting], bool]:
    """The oldest of the requests that have waited longer than `older_than` seconds, as many as one call should hold.
    Also True if there may be more."""
    rows = await sql.fetch(_WAITING, queue, older_than, limit, PAGE_BYTES)
    more = bool(rows) and (len(rows) == limit or rows[0]["found"] > len(rows))
    return [_waiting(row) for row in rows], more


async def count(sql: Any, queue: str) -> int:
    """The number of requests that Redis has not got yet."""
    return int(await sql.fetchval(_COUNT, queue))


async def forget(sql: Any, queue: str, task_ids: Sequence[str]) -> None:
    """Delete the requests for tasks that were deleted."""
    delete = "DELETE FROM holdfast_requests WHERE queue = $1 AND task_id = ANY($2) AND given IS NOT NULL"
    await sql.execute(delete, queue, list(task_ids))


async def trim(sql: Any, queue: str, keep_ms: int) -> None:
    """Delete refused requests that are older than this."""
    delete = "DELETE FROM holdfast_requests WHERE queue = $1 AND refused IS NOT NULL AND created < clock_timestamp() - "
    await sql.execute(f"{delete} $2::float8 * interval '1 millisecond'", queue, keep_ms)


async def first_of(sql: Any, queue: str, task_id: str) -> Submission | None:
    """The submission of a task that is accepted, but that the ledger has not read from Redis yet."""
    content = await sql.fetchval(
        "SELECT content FROM holdfast_requests WHERE queue = $1 AND task_id = $2 AND verb = 'run' AND refused IS NULL "
        "ORDER BY id LIMIT 1",
        queue,
        task_id,
    )
    return None if content is None else _submission(content)


def _digest(one: Submission) -> str:
    return f"o{one.digest}"


def _same(known: str, one: Submission) -> Accepted:
    """CONFLICT if two messages with the same id have different digests, else DUPLICATE. A digest of Holdfast's own
    message is never compared with a digest of another producer's message."""
    return Accepted.CONFLICT if known[:1] == "o" and known != _digest(one) else Accepted.DUPLICATE


def _known(row: Any, one: Submission) -> Accepted | None:
    if row is None:
        return None
    digests = dict(zip(row["message_ids"], row["digests"], strict=True))
    if one.message_id in digests:
        return _same(digests[one.message_id], one)
    return None if row["finished_ms"] is None else Accepted.TERMINAL


def _entry(
    one: Submission,
    entered: Mapping[str, Sequence[Any]],
    ledger: Mapping[str, object],
    mine: set[tuple[str, str]],
    new: set[tuple[str, str]],
) -> Entry:
    rows = entered[one.task_id]
    place = next((n for n, row in enumerate(rows) if row["message_id"] == one.message_id), None)
    if place is None:  # entered earlier, and confirmed since
        return Entry(one, word=Accepted.DUPLICATE)
    row, before = rows[place], rows[:place]
    if row["digest"] != _digest(one):
        return Entry(one, word=Accepted.CONFLICT)
    parents = [row for parent in (one.options.after if one.options else ()) for row in entered[parent]]
    blocked = any(each["waits"] and (each["task_id"], each["message_id"]) not in mine for each in [*before, *parents])
    first, promised = not before and one.task_id not in ledger, (one.task_id, one.message_id) not in new
    return Entry(one, row["id"], first=first, blocked=blocked, promised=promised)


def _is_new(entry: Entry) -> bool:
    return entry.word is None and not entry.promised


def _is_full(entry: Entry, entered: Mapping[str, Sequence[Any]], ledger: Mapping[str, Any], most: int) -> bool:
    """True if `most` messages already wait for the task. Messages that the ledger has read count, and messages that are
    on their way to Redis. The request that makes the task does not count."""
    known = ledger.get(entry.submission.task_id)
    before = [row for row in entered[entry.submission.task_id] if row["id"] < entry.request and row["message_id"]]
    return len(before) + (_length(known["pending"]) if known else -1) >= most


def _length(packed: bytes) -> int:
    """The length of a MessagePack list, from its first bytes."""
    sizes = {0xDC: 3, 0xDD: 5}
    return int.from_bytes(packed[1 : sizes[packed[0]]]) if packed[0] in sizes else packed[0] & 0x0F


def _waiting(row: Any) -> Waiting:
    speaks = row["message_id"] != ""
    return Waiting(
        request=row["id"],
        verb=row["verb"],
        task_id=row["task_id"],
        ended=row["finished_ms"] is not None,
        known=bool(row["known"]),
        submission=_later(_submission(row["content"]), row["age_ms"]) if speaks else None,
        reason="" if speaks else row["content"].decode("utf-8", "surrogatepass"),
    )


def _later(one: Submission, age_ms: int) -> Submission:
    """The submission with the delay that remains: `age_ms` has passed since its acceptance."""
    return one if one.delay_ms is None else msgspec.structs.replace(one, delay_ms=max(0, one.delay_ms - age_ms))
