"""A producer's submit meets a broken network: it hears "unknown", says the same again, and the task runs once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace

import pytest
from msgspec import structs

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Accepted
from holdfast.errors import StoreUnavailableError
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.faults.network import ANSWER_TIMEOUT, LATE, UNTOLD, behind_a_proxy
from tests.faults.proxy import Action
from tests.faults.scene import Scene
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

HEARD = {Action.WATCH, Action.DUPLICATE}  # the first answer arrives
UNHEARD = [action for action in Action if action not in HEARD | {Action.HALF_CLOSE_UP}]


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy() as scene:
        yield scene


@pytest.fixture(scope="module")
async def producer(scene: Scene) -> AsyncGenerator[RedisStore]:
    settings = RedisSettings(scene.proxy.url, 4, QUEUE)
    async with open_store(replace(settings, answer_timeout=ANSWER_TIMEOUT)) as store:
        yield store


@pytest.fixture(autouse=True)
def healed(scene: Scene) -> Iterator[None]:
    yield
    scene.proxy.clear()


@pytest.mark.parametrize("action", UNHEARD)
async def test_submit_without_an_answer_is_unknown_and_can_be_made_again(
    scene: Scene, producer: RedisStore, action: Action
) -> None:
    task = f"unknown-{action}"
    work, rule = submission(task, "echo"), scene.proxy.on("submit", action)
    with pytest.raises(StoreUnavailableError):
        await producer.submit([work])
    assert await producer.submit([work]) == [Accepted.DUPLICATE if action in UNTOLD else Accepted.NEW]
    record = await scene.completed(task)
    rule.wait().release()
    if action in LATE:
        assert b"duplicate" in rule.answer()
    assert await producer.submit([work]) == [Accepted.DUPLICATE]
    assert (record.deliveries, scene.runs(task)) == (1, 1)
    await scene.check()


@pytest.mark.parametrize("action", list(Action))
async def test_patient_producer_submits_once(scene: Scene, producer: RedisStore, action: Action) -> None:
    task = f"patient-{action}"
    work, rule = submission(task, "echo"), scene.proxy.on("submit", action)
    (accepted,) = await SubmitRetries().call(producer.submit, [work])
    record = await scene.completed(task)
    rule.wait().release()
    if action in LATE:
        assert b"duplicate" in rule.answer()
    assert accepted in {Accepted.NEW, Accepted.DUPLICATE}
    assert (record.deliveries, scene.runs(task)) == (1, 1)
    await scene.check()


async def test_submit_that_comes_when_another_message_has_its_id_is_refused(scene: Scene, producer: RedisStore) -> None:
    early, late = submission("t", "echo early"), submission("t", "echo late")
    late = structs.replace(late, message_id=early.message_id)
    rule = scene.proxy.on("submit", Action.HOLD)
    with pytest.raises(StoreUnavailableError):
        await producer.submit([late])
    await scene.store.submit([early])
    record = await scene.completed("t")
    rule.release()
    assert b"conflict" in rule.answer()
    assert record.result is not None
    assert b"early" in record.result
    await scene.check()
