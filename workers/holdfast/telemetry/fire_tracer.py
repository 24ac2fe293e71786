"""Makes the spans in which schedules make tasks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from holdfast.core import trace_ids
from holdfast.telemetry import semantic_names
from holdfast.telemetry.chosen_spans import ChosenSpans
from holdfast.telemetry.planned_span import PlannedSpan

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from holdfast.core.schedule_records import Fire
    from holdfast.telemetry import Server


class FireTracer:
    def __init__(self, provider: TracerProvider, server: Server) -> None:
        self._spans = ChosenSpans(provider)
        self._server = server

    def names(self, task_id: str) -> tuple[str, str, str]:
        # The sampler alone knows the flags: this span is made for its context, and is not sent.
        context = self._start(task_id, "").get_span_context()
        return f"{context.trace_id:032x}", f"{context.span_id:016x}", f"{context.trace_flags:02x}"

    def fired(self, schedule_id: str, fire: Fire) -> None:
        span = self._start(fire.task.task_id, fire.task.lane)
        if span.is_recording():
            span.set_attributes(
                {
                    semantic_names.SYSTEM: semantic_names.HOLDFAST,
                    semantic_names.OPERATION_NAME: semantic_names.FIRE,
                    semantic_names.OPERATION_TYPE: semantic_names.SEND,
                    semantic_names.DESTINATION: fire.task.lane,
                    semantic_names.MESSAGE_ID: fire.task.message_id,
                    semantic_names.TASK_ID: fire.task.task_id,
                    semantic_names.SCHEDULE_ID: schedule_id,
                    semantic_names.LATENESS: max(0.0, time.time() - fire.scheduled_at / 1000),
                    **semantic_names.of_server(self._server()),
                }
            )
        span.end()

    def _start(self, task_id: str, lane: str) -> Span:
        return self._spans.start(
            PlannedSpan(
                f"{semantic_names.FIRE} {lane}",
                int(trace_ids.trace_id(task_id), 16),
                int(trace_ids.fire_span_id(task_id), 16),
                SpanKind.PRODUCER,
                {},
            )
        )
