"""Dependencies, expiry, deduplication keys and webhook of a task."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.core.identity import sha1_hex

MOST_PARENTS = 100  # what the end of one task costs at most


class IfParentFails(StrEnum):
    """The fate of a task when one that it waits for ends otherwise than completed."""

    FAIL = "fail"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """The place of a task in its batch, from 1; 0 is that of the callback. `expected`: how many tasks the batch is to
    have; `digest`: of all of them and the callback."""

    batch: str
    place: int
    expected: int
    digest: str

    @property
    def text(self) -> str:
        """As the store keeps it in the record of the task."""
        return f"{self.place} {self.expected} {self.digest} {self.batch}"


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """Times are milliseconds; `expires_ms` of the store's clock, `expires_in_ms` from its acceptance. Keys are kept
    by their digests (`key_digest`). `unique_ms`: None as long as the first task with the key has not ended. `webhook`:
    the URL that is told of its end, and of its questions. `batch`: the one that it is a task, or the callback, of."""

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
    """The digest of a user's key, of any characters and length; empty for none."""
    return "" if key is None else sha1_hex(key.encode())
