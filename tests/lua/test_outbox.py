"""What waits to be told to webhooks: one unreadable record is its own trouble."""

from __future__ import annotations

import pytest

from holdfast.core.deliveries import Settle
from holdfast.core.notices import Notice, SpoiltNotice
from holdfast.core.terms import Terms
from tests.conformance.stand import submission
from tests.lua.namespace import Namespace

pytestmark = pytest.mark.anyio


async def test_record_that_is_none_is_taken_beside_the_others(space: Namespace) -> None:
    await space.register("a")
    await space.store.submit_on_terms([submission("t1", space.queue, terms=Terms(webhook="https://example.org/told"))])
    await space.settle("a", (await space.take("a"))[0], Settle.COMPLETED)
    await space.do("SET", space.key("webhook:bad|1|completed"), "no hash")
    await space.do("ZADD", space.key("webhooks"), 0, "bad|1|completed")
    bad, good = (await space.store.take_notices(10, 1000))[0]
    assert isinstance(bad, SpoiltNotice)
    assert isinstance(good, Notice)
    assert (bad.name, good.task_id, good.tries) == ("bad|1|completed", "t1", 1)
    assert await space.store.notice_done(bad.name, bad.why)
    await space.check()
