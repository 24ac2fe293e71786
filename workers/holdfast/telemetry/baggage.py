"""The producer's baggage in the form of the W3C header `baggage`."""

from __future__ import annotations

from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context

KEY = "baggage"
_W3C = W3CBaggagePropagator()


def read(header: str) -> Context:
    """A context that holds only the baggage of this header."""
    return _W3C.extract({KEY: header}, Context())


def written() -> str | None:
    """The header for the baggage of the current context; None if there is none."""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier)
    return carrier.get(KEY)
