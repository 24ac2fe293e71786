"""The card is there while the store is away or does not answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from holdfast.errors import StoreUnavailableError
from holdfastd.web.a2a import agent_card

pytestmark = pytest.mark.anyio


async def silent() -> None:
    await anyio.sleep_forever()


async def away() -> None:
    raise StoreUnavailableError("away")


@pytest.mark.parametrize("published_handlers", [silent, away])
async def test_a_card_does_not_wait_long_for_the_store(
    monkeypatch: pytest.MonkeyPatch, published_handlers: object
) -> None:
    monkeypatch.setattr(agent_card, "PATIENCE", 0.01)
    access: Any = SimpleNamespace(store=SimpleNamespace(published_handlers=published_handlers))
    with anyio.fail_after(20):
        assert await agent_card.handlers_of(access) == ()
