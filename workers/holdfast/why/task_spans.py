"""The OpenTelemetry spans of a task. Their ids are computed from the task's id, without asking a collector."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from holdfast.core import identity
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import TrailStep
from holdfast_config import Settings

SHOWN = 3  # deliveries whose spans are shown, the latest ones

_TRACE_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """The settings of traces. `is_on`: whether spans are shown. `mode`: link or parent. `url`: the template of a link
    to a span."""

    is_on: bool
    mode: str
    url: str | None


def tracing_of(settings: Settings) -> TraceSettings:
    """The settings of traces. They are on if the settings name a collector or a template of links."""
    is_on = settings.otlp_endpoint is not None or settings.trace_url is not None
    return TraceSettings(is_on, settings.trace_mode, settings.trace_url)


class SpanDocument(TypedDict):
    """The span of one delivery. `url`: the link to the span; empty if the settings have no template."""

    delivery: int
    trace_id: str
    span_id: str
    url: str


def task_spans(task: TaskRecord, steps: Sequence[TrailStep], tracing: TraceSettings) -> list[SpanDocument]:
    """The spans of the deliveries in the task's history, the oldest first; empty if traces are off."""
    if not tracing.is_on:
        return []
    trace = (_producers_trace(task.operation) if tracing.mode == "parent" else "") or identity.trace_id(task.task_id)
    return [_span(task.task_id, step.delivery, trace, tracing) for step in steps if step.event == "claimed"]


def words(spans: Sequence[SpanDocument]) -> Iterator[str]:
    """Yield lines about the spans of the latest deliveries; none without spans."""
    if not spans:
        return
    named = ", ".join(f"{each['span_id']} (delivery {each['delivery']})" for each in spans[-SHOWN:])
    yield f"trace: {spans[-1]['trace_id']}; spans: {named}"
    if spans[-1]["url"]:
        yield f"link: {spans[-1]['url']}"


def _span(task_id: str, delivery: int, trace: str, tracing: TraceSettings) -> SpanDocument:
    span = identity.span_id(task_id, delivery)
    url = identity.link(tracing.url, trace, span) if tracing.url else ""
    return {"delivery": delivery, "trace_id": trace, "span_id": span, "url": url}


def _producers_trace(operation: bytes | None) -> str:
    """The trace id in the envelope; empty if it has none."""
    try:
        named = json.loads(operation or b"null").get("trace_id")
    except (ValueError, AttributeError):
        return ""
    return named if isinstance(named, str) and _TRACE_ID.fullmatch(named) and int(named, 16) else ""
