"""The log sink: a second receiver of the records that go to standard error, such as telemetry.

A process sets it after its fork; until then records go nowhere else. The records of a process that was forked from one
with a sink reach the copy of that sink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from structlog.typing import EventDict, WrappedLogger

Sink = Callable[[Mapping[str, Any]], object]

_sinks: list[Sink] = []


def set_sink(sink: Sink | None) -> None:
    """Give records to `sink`, too; None: to none any more."""
    _sinks[:] = [] if sink is None else [sink]


def offer(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """A processor: records that reach it are to be written, and have all their fields."""
    for sink in _sinks:
        sink(event)
    return event
