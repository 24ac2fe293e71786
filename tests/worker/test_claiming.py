"""When bells are of use to a worker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from holdfast.core.delivery import Pulled, Standing
from holdfast.core.pull_protocol import Exchange
from holdfast.worker.listen import HintListener
from holdfast.worker.pull import Puller

pytestmark = pytest.mark.anyio


async def test_no_bell_is_for_a_process_that_keeps_apart_for_a_suspect() -> None:
    """The store rings on for others then: a worker that heard that bell would ask without end."""
    exchange, answers = Exchange(5), [Standing.OK, Standing.APART, Standing.REPLAY, Standing.OK]
    asked = iter(answers)

    async def pull(*_: object) -> object:
        return exchange.next_request(), Pulled(next(asked))

    post: Any = SimpleNamespace(exchange=exchange, insist=SimpleNamespace(call=pull))
    claims = Puller(post, lambda: 5, lambda _: None, lambda: None)
    found = list[tuple[bool, bool]]()
    async with anyio.create_task_group() as group:
        group.start_soon(claims.serve)
        for _ in answers:
            await claims.ask_now()
            found.append((claims.hungry, claims.apart))
        group.cancel_scope.cancel()
    assert found == [(True, False), (False, True), (False, True), (True, False)]


async def test_who_keeps_apart_asks_once_after_each_wait_for_hints() -> None:
    """Its suspect may be canceled, or start elsewhere, without a hint; and it does not ask without waiting."""
    exchange, done, heard = Exchange(5), anyio.Event(), list[str]()

    async def listen(_: str, lanes: tuple[str, ...], timeout: float) -> None:
        heard.append(f"waited {timeout} s for {len(lanes)} bells")

    async def call(what: str, function: Any) -> object:
        if what == "listen":
            return await function()
        heard.append("asked")
        if len(heard) > 6:
            done.set()
        return exchange.next_request(), Pulled(Standing.APART)

    spec = SimpleNamespace(quarantine=False, settings=SimpleNamespace(lane_names=("q",)))
    store, insist = SimpleNamespace(listen=listen), SimpleNamespace(call=call)
    post: Any = SimpleNamespace(exchange=exchange, insist=insist, store=store, spec=spec, incarnation="i")
    claims = Puller(post, lambda: 5, lambda _: None, lambda: None)
    listener = HintListener(post, claims, lambda *_: None, lambda: 1.0)
    async with anyio.create_task_group() as group:
        group.start_soon(claims.serve)
        await claims.ask_now()
        group.start_soon(listener.serve)
        with anyio.move_on_after(5):
            await done.wait()
        group.cancel_scope.cancel()
    assert heard[:7] == ["asked", *["waited 1.0 s for 0 bells", "asked"] * 3]


async def test_a_store_that_keeps_a_worker_from_its_fires_keeps_it_from_its_tasks_for_a_bounded_time() -> None:
    exchange = Exchange(5)
    answers = iter([Pulled(Standing.FIRES, fires=("j",)), Pulled(Standing.OK)])

    async def pull(*_: object) -> object:
        return exchange.next_request(), next(answers)

    async def schedule(_: str) -> object:
        return await anyio.sleep_forever()

    settings = SimpleNamespace(queue_name="q", max_message_bytes=100)
    post: Any = SimpleNamespace(
        exchange=exchange,
        insist=SimpleNamespace(call=pull),
        store=SimpleNamespace(schedule=schedule),
        spec=SimpleNamespace(settings=settings, halt=None),
    )
    claims = Puller(post, lambda: 5, lambda _: None, lambda: None)
    claims.fires.longest = 0.01
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(claims.serve)
            await claims.ask_now()
            await claims.ask_now()
            group.cancel_scope.cancel()
    assert next(answers, None) is None


@pytest.mark.parametrize(("last", "lines"), [(5, 2), (6, 0)], ids=["quiet", "halted"])
async def test_a_process_that_ends_at_a_halt_warns_of_a_quiet_host_alone(last: int, lines: int) -> None:
    exchange, answers = Exchange(5), iter([Standing.QUIET, Standing.QUIET, Standing.OK])

    async def call(what: str, function: Any) -> object:
        return await function() if what == "halts" else (exchange.next_request(), Pulled(next(answers)))

    async def last_halt(_: str) -> int:
        return last

    store, spec = SimpleNamespace(last_halt=last_halt), SimpleNamespace(halt=5)
    post: Any = SimpleNamespace(exchange=exchange, insist=SimpleNamespace(call=call), store=store, spec=spec)
    claims = Puller(post, lambda: 5, lambda _: None, lambda: None)
    with capture_logs() as logs:
        async with anyio.create_task_group() as group:
            group.start_soon(claims.serve)
            for _ in range(3):
                await claims.ask_now()
            group.cancel_scope.cancel()
    assert len(logs) == lines
