"""The span that the caller is in. Needs no SDK."""

from __future__ import annotations

from opentelemetry.context import get_current
from opentelemetry.trace import SpanContext, get_current_span


def current_span() -> SpanContext | None:
    """The context of the current span; None if there is none."""
    context = get_current()
    if not context:  # as for most callers: the library makes several objects to find that out
        return None
    found = get_current_span(context).get_span_context()
    return found if found.is_valid else None
