"""When bells are of use to a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from holdfast.core.deliveries import Pulled, Standing
from holdfast.core.exchange import Exchange
from holdfast.worker.claiming import Claims

pytestmark = pytest.mark.anyio


async def test_no_bell_is_for_a_process_that_keeps_apart_for_a_suspect() -> None:
    """The store rings on for others then: a worker that heard that bell would ask without end."""
    exchange, answers = Exchange(5), [Standing.OK, Standing.APART, Standing.REPLAY, Standing.OK]
    asked = iter(answers)

    async def pull(*_: object) -> object:
        return exchange.next_request(), Pulled(next(asked))

    post: Any = SimpleNamespace(exchange=exchange, insist=SimpleNamespace(call=pull))
    claims = Claims(post, lambda: 5, lambda _: None, lambda: None)
    found = list[tuple[bool, bool]]()
    async with anyio.create_task_group() as group:
        group.start_soon(claims.serve)
        for _ in answers:
            await claims.ask_now()
            found.append((claims.hungry, claims.apart))
        group.cancel_scope.cancel()
    assert found == [(True, False), (False, True), (False, True), (True, False)]
