"""Schedules on a registry: what is wrong is refused where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Handlers
from holdfast.errors import HandlerError, InvalidTaskError


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"cron": "61 * * * *", "name": "tick"}, "field 1"),
        ({"every": 5}, "nothing to run"),
        ({"every": 5, "name": "tick", "color": "red"}, "color"),
    ],
)
def test_a_wrong_schedule_is_refused(spec: dict[str, Any], reason: str) -> None:
    with pytest.raises(HandlerError, match=reason):
        Handlers().schedule("j", **spec)


def test_an_id_is_defined_once() -> None:
    handlers = Handlers()
    handlers.schedule("j", every=5, text="x")
    with pytest.raises(HandlerError, match="defined twice"):
        handlers.schedule("j", every=6, text="x")


def test_a_handler_declares_its_own_schedule() -> None:
    """It is the schedule that the same words make, and its arguments are checked."""
    named, own = Handlers(), Handlers()
    for handlers in (named, own):

        @handlers.register("bill", lane="slow")
        async def bill(region: str, copies: int = 1) -> None: ...

        if handlers is named:
            task = {"name": "bill", "kwargs": {"region": "eu"}, "lane": "slow"}
            handlers.schedule("nightly", cron="0 2 * * *", timezone="Europe/Berlin", **task)
        else:
            bill.cron("0 2 * * *", id="nightly", timezone="Europe/Berlin").declare("eu")
            with pytest.raises(InvalidTaskError, match=r"bill: .*'copis'"):
                bill.every(60, id="often").declare("eu", copis=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
            with pytest.raises(HandlerError, match="schedule 'nightly' is defined twice"):
                bill.every(60, id="nightly").declare("us")
    assert own.frozen("own").schedules == named.frozen("named").schedules


def test_a_schedule_that_calls_nobody_is_refused() -> None:
    handlers = Handlers()
    handlers.register("tick")(lambda: None)
    handlers.schedule("j", every=5, name="tock")
    with pytest.raises(HandlerError, match="calls handler 'tock', but app:handlers has no such handler"):
        handlers.frozen("app:handlers")
