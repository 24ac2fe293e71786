"""The request of a producer to a store (an operation with its options), and the store's answer. Times are
milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from holdfast.core.identity import sha1_hex

MOST_PARENTS = 100  # of one task


class IfParentFails(StrEnum):
    """The fate of a task if one of its parents does not complete."""

    FAIL = "fail"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """The place of a task in its batch, from 1; the callback has 0. `expected`: the number of tasks in the whole batch.
    `digest`: the digest of all tasks of the batch and its callback."""

    batch: str
    place: int
    expected: int
    digest: str

    @property
    def text(self) -> str:
        """The place as the store keeps it in the record of the task."""
        return f"{self.place} {self.expected} {self.digest} {self.batch}"


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """The options of a submitted task. Times are milliseconds; `expires_ms` is by the store's clock, `expires_in_ms`
    counts from acceptance. Keys are stored as digests (`key_digest`). `unique_ms`: how long the task holds its `unique`
    key; None: until it has ended. `webhook`: this URL gets a request when the task ends or asks for input. `batch`: the
    task's place in its batch."""

    after: tuple[str, ...] = ()
    if_parent_fails: IfParentFails = IfParentFails.FAIL
    expires_ms: int | None = None
    expires_in_ms: int | None = None
    debounce: str = ""
    unique: str = ""
    unique_ms: int | None = None
    webhook: str = ""
    batch: BatchPlace | None = None


def key_digest(key: str | None) -> str:
    """The digest of a user's key. The key may be of any characters and length. Empty for no key."""
    return "" if key is None else sha1_hex(key.encode())


class Submission(msgspec.Struct, frozen=True):
    """One operation to accept. `digest` identifies the content of the message without its trace ids."""

    task_id: str
    message_id: str
    digest: str
    operation: bytes
    lane: str
    due_ms: int | None = None
    delay_ms: int | None = None
    name: str = ""
    max_attempts: int | None = None
    timeout_ms: int | None = None
    options: SubmitOptions | None = msgspec.field(default=None, name="terms")  # its name in PostgreSQL's requests
    concurrency_key: str = ""


class Accepted(StrEnum):
    """The answer to a submission."""

    NEW = "new"
    TURN = "turn"  # a parked task goes on with this message
    PENDING = "pending"  # waits for the running turn
    DUPLICATE = "duplicate"  # seen before; nothing changed
    CONFLICT = "conflict"  # the same message id with other content; nothing changed
    TERMINAL = "terminal"  # the task has ended; nothing changed
    FULL = "full"  # the task has as many waiting messages as are allowed; nothing changed
    UNKNOWN = "unknown"  # `message` alone: there is no such task; nothing changed
    NO_PARENT = "no-parent"  # a task in `after` is not known; nothing changed
    NO_LIST = "no-list"  # the key of its lane holds no list; nothing changed
    OTHER_BATCH = "other-batch"  # its batch was submitted before with other tasks; nothing changed
    BATCH_CLOSED = "batch-closed"  # an operator has sealed or canceled its batch; nothing changed
    TAKEN = "taken"  # the task exists and is not of this batch; nothing changed
    DAMAGED = "damaged"  # its batch, or a task in `after`, cannot be read; nothing changed
    REJECTED = "rejected"  # from a ledger only: Redis cannot take the accepted task; its record says why


class Receipt(msgspec.Struct, frozen=True):
    """The answer to a submission. `task_id`: the accepted task; for a duplicate, the first task with the `unique` key.
    For a refusal: the id of the unknown parent, or the damaged key."""

    accepted: Accepted
    task_id: str
