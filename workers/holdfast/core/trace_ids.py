"""Ids of traces and spans that are made of a task's id: every process that knows the task computes the same ones.

So a span that a handler makes has a parent even if the worker dies before it has sent the span of the delivery: the
steward that recovers the task sends it, under the same id.
"""

from __future__ import annotations

import hashlib
import re

_RETRY = re.compile(r"(\.r[0-9]+)+$")  # the end of the id of a task that retries another


def trace_id(task_id: str) -> str:
    """The id, 32 hex digits, of the trace of a task that has no producer's trace: a task that retries another stays in
    the trace of that one."""
    return _hex(f"trace {_RETRY.sub('', task_id)}", 16)


def span_id(task_id: str, delivery: int) -> str:
    """The id, 16 hex digits, of the span of this delivery; deliveries are numbered over all turns of a task."""
    return _hex(f"process {task_id} {delivery}", 8)


def recovery_span_id(task_id: str, delivery: int) -> str:
    """The id of the span of the recovery of a task whose worker was lost in this delivery."""
    return _hex(f"recover {task_id} {delivery}", 8)


def fire_span_id(task_id: str) -> str:
    """The id of the span in which a schedule has made this task."""
    return _hex(f"fire {task_id}", 8)


def link(template: str, trace: str, span: str) -> str:
    """The URL of a span, by the template in `trace_url`; ids are hex digits."""
    return template.replace("{trace_id}", trace).replace("{span_id}", span)


def _hex(name: str, size: int) -> str:
    return hashlib.blake2b(name.encode(), digest_size=size).hexdigest()
