"""Ids: the rules for them, and ids derived from content, so that the same content always gets the same id.

The store's scripts derive the same ids from the same bytes; a change here needs a change there.
"""

from __future__ import annotations

import hashlib
import re
import uuid

TASK_ID_RULE = "1 to 128 letters, digits and . _ @ -"

KEYED = uuid.UUID("b5b4f3ea-5d0c-5c1b-9f5a-6d2f3f0d7c11")  # the UUID namespace of ids that are made from keys

_VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))  # the digit with RFC 4122's two bits in front

TASK_ID = re.compile(r"[A-Za-z0-9._@-]{1,128}")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9._@-]{1,64}")


def is_task_id(text: str) -> bool:
    return TASK_ID.fullmatch(text) is not None


def fitting_message_id(text: str) -> str:
    """`text` if it can be a message id; its SHA-1 if it is too long or has other characters."""
    return text if _MESSAGE_ID.fullmatch(text) else sha1_hex(text.encode())


def derived_message_id(task_id: str, content: bytes) -> str:
    """The message id (a UUID) for a message that has none. It is made from the content: if a producer repeats a call,
    both calls send the same message."""
    digest = hashlib.sha1(b"%b\0%b" % (task_id.encode(), content), usedforsecurity=False).digest()
    return uuid_text(digest, 5)


def uuid_text(content: bytes, version: int) -> str:
    """A UUID of this version, made from the first 16 bytes. The text is the same as `str(uuid.UUID(…))`, but made
    faster."""
    digits = content.hex()
    variant = _VARIANT[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-{version}{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def keyed_id(queue: str, key: str) -> str:
    """The id of the one task that a user's key names in this queue: the same for every producer, at any time."""
    return str(uuid.uuid5(KEYED, f"{queue}\0{key}"))


def sha1_hex(content: bytes) -> str:
    """The SHA-1 of these bytes. It only identifies content and protects nothing; Redis scripts can compute it, too."""
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def first_message_id(task_id: str) -> str:
    """The message id for the first message of a task whose id a program has chosen. If the program submits the same
    task id with other content, the two messages have the same id, and the store reports a conflict."""
    return derived_message_id(task_id, b"first message")


# Ids of traces and spans that are made of a task's id: every process that knows the task computes the same ones.
#
# A worker may die before it has sent the span of a delivery. The steward that recovers the task then sends this span
# under the same id, so that spans of the handler have a parent.

_RETRY = re.compile(r"(\.r[0-9]+)+$")  # the end of the id of a task that retries another


def trace_id(task_id: str) -> str:
    """The trace id (32 hex digits) of a task whose producer sent none. A retry gets the same trace as the task that it
    retries."""
    return _hex(f"trace {_RETRY.sub('', task_id)}", 16)


def span_id(task_id: str, delivery: int) -> str:
    """The id, 16 hex digits, of the span of this delivery; deliveries are numbered over all turns of a task."""
    return _hex(f"process {task_id} {delivery}", 8)


def recovery_span_id(task_id: str, delivery: int) -> str:
    """The id of the span for the recovery of a task: its worker was lost in this delivery."""
    return _hex(f"recover {task_id} {delivery}", 8)


def fire_span_id(task_id: str) -> str:
    """The id of the span in which a steward or worker has created this task of a schedule."""
    return _hex(f"fire {task_id}", 8)


def link(template: str, trace: str, span: str) -> str:
    """The URL of a span, by the template in `trace_url`; ids are hex digits."""
    return template.replace("{trace_id}", trace).replace("{span_id}", span)


def _hex(name: str, size: int) -> str:
    return hashlib.blake2b(name.encode(), digest_size=size).hexdigest()
