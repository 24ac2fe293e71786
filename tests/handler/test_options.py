"""Options of a named handler: attempts, timeout, concurrency, lane."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from holdfast.core.outcomes import Raised
from holdfast.errors import HandlerError
from holdfast.handler.handler import Handler, HandlerOptions
from holdfast.handler.registry import Handlers
from tests.handler.deliveries import delivery_of, run_handler

pytestmark = pytest.mark.anyio


def registry() -> Handler:
    handlers = Handlers()

    @handlers.register("slow", timeout=0.01, max_attempts=5, concurrency=2, lane="slow")
    async def slow() -> None:
        await anyio.sleep(60)

    @handlers.register("plain")
    async def plain() -> None: ...

    return handlers.frozen("tests:handlers")


def call_of(name: str) -> list[dict[str, Any]]:
    return [{"kind": "data", "data": {"name": name, "kwargs": {}}}]


def test_each_handler_has_its_own() -> None:
    handler = registry()
    assert handler.options("slow") == HandlerOptions(max_attempts=5, timeout=0.01, concurrency=2, lane="slow")
    assert handler.options("plain") == handler.options("unknown") == handler.options(None) == HandlerOptions()


async def test_its_timeout_counts_before_the_workers() -> None:
    outcome = await run_handler(registry(), delivery_of(call_of("slow")), timeout=30)
    assert isinstance(outcome, Raised)
    assert outcome.failure.message == "the handler took longer than 0.01 s"


async def test_the_tasks_own_timeout_counts_before_its_handlers() -> None:
    outcome = await run_handler(registry(), delivery_of(call_of("slow"), timeout_ms=20), timeout=30)
    assert isinstance(outcome, Raised)
    assert outcome.failure.message == "the handler took longer than 0.02 s"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_attempts": 0}, "max_attempts 0"),
        ({"max_attempts": "3"}, "max_attempts '3'"),
        ({"timeout": 0}, "timeout 0"),
        ({"timeout": float("nan")}, "timeout nan"),
        ({"concurrency": 0}, "concurrency 0"),
        ({"concurrency": True}, "concurrency True"),
        ({"concurrency": 1001}, "concurrency 1001"),
        ({"lane": "a b"}, "lane 'a b'"),
    ],
)
def test_what_is_not_allowed_is_refused_when_it_is_registered(options: dict[str, Any], why: str) -> None:
    with pytest.raises(HandlerError, match=f"the handler 'bill': {why}"):
        Handlers().register("bill", **options)
