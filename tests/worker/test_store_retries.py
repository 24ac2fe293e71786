"""A worker's calls are made again until the store answers, and their answer is the store's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest

from holdfast.errors import StoreError, StoreFullError, StoreRefusedError, StoreUnavailableError
from holdfast.worker.context import StoreRetries

pytestmark = pytest.mark.anyio


def answering(*answers: str | StoreError) -> Callable[[], Awaitable[str]]:
    """Declared async or not, as callers have both."""
    left = list(answers)

    async def answer() -> str:
        given = left.pop(0)
        if isinstance(given, StoreError):
            raise given
        return given

    return answer


@pytest.mark.parametrize("failures", [0, 1, 2, 3])
@pytest.mark.parametrize("error", [StoreUnavailableError, StoreFullError, StoreRefusedError])
async def test_the_answer_is_the_stores_however_often_it_failed(failures: int, error: type[StoreError]) -> None:
    retries = StoreRetries()
    call = answering(*[error("away")] * failures, "answer")
    assert await retries.call("one", call) == "answer"
    assert retries.degraded == ""
    call = answering(*[error("away")] * failures, "answer")
    assert await retries.call("another", lambda: call()) == "answer"


async def test_what_keeps_a_call_is_shown_until_it_is_answered() -> None:
    retries, seen = StoreRetries(), list[str]()
    call = answering(StoreUnavailableError("one"), StoreUnavailableError("two"), "answer")

    async def watched() -> str:
        seen.append(retries.degraded)
        return await call()

    await retries.call("pull", watched)
    assert seen == ["", "one", "two"]
    assert retries.degraded == ""


async def test_a_call_that_is_canceled_while_the_store_is_away_leaves_no_mark() -> None:
    retries = StoreRetries()
    async with anyio.create_task_group() as group:

        async def away() -> str:
            if retries.degraded:
                group.cancel_scope.cancel()
            raise StoreUnavailableError("away")

        group.start_soon(retries.call, "steps", away)
    assert retries.degraded == ""


async def test_a_call_that_ends_with_another_error_leaves_no_mark() -> None:
    retries = StoreRetries()

    async def answer() -> str:
        if retries.degraded:
            raise LookupError
        raise StoreUnavailableError("away")

    with pytest.raises(LookupError):
        await retries.call("steps", answer)
    assert retries.degraded == ""
