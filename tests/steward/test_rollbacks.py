"""A store that has gone back: whoever saw more of it than it knows now says so, for a while."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from holdfastd.steward.duties.store_duties import LOUD_FOR, StoreRollbacks
from holdfastd.steward.duty import Health
from tests.lua.namespace import Namespace, namespace
from tests.steward.surroundings import FakeStore

pytestmark = pytest.mark.anyio


async def test_what_is_gone_is_said_once_and_shown_for_a_while() -> None:
    health, now = Health(), [100.0]
    store = FakeStore({"latest": [("5-0", None), ("3-0", 2000), ("4-0", None), ("4-0", None)]})
    rollbacks = StoreRollbacks(store, health, lambda: now[0])
    with capture_logs() as lines:
        await rollbacks.run_once()
        assert health.degraded == ""
        await rollbacks.run_once()
        await rollbacks.run_once()
        assert "went back by 2.0 s or more" in health.degraded
        now[0] += LOUD_FOR
        await rollbacks.run_once()
    assert health.degraded == ""
    assert [line["at_least_s"] for line in lines if "latest writes" in line["event"]] == [2.0]
    assert [seen for _, seen in store.calls] == ["", "5-0", "3-0", "4-0"]


async def _happens(space: Namespace, *ids: str) -> None:
    for event in ids:
        await space.do("XADD", space.key("events"), event, "event", "accepted", "id", event, "detail", "")


async def test_a_store_knows_whether_what_was_seen_is_still_there(server_url: str) -> None:
    async with namespace(server_url) as space:
        assert await space.store.latest("") == ("", None)
        assert await space.store.latest("7-0") == ("", None)  # emptied: that is another's to say
        await _happens(space, "1000-0", "2000-0", "2000-1")
        assert await space.store.latest("") == ("2000-1", None)
        assert await space.store.latest("2000-1") == ("2000-1", None)
        await _happens(space, "9000-0")
        assert await space.store.latest("2000-1") == ("9000-0", None)
        assert await space.store.latest("5000-3") == ("9000-0", 3000)  # though newer things have happened since
        assert await space.store.latest("9500-0") == ("9000-0", 500)
        await space.do("XTRIM", space.key("events"), "MINID", "9000")
        assert await space.store.latest("2000-1") == ("9000-0", None)  # trimmed, as far as can be told
