"""The port of webhooks."""

from __future__ import annotations

from typing import Protocol

from holdfast.core.webhook_notice import Notice, SpoiltNotice


class OutboxStore(Protocol):
    """What webhooks need."""

    async def take_notices(self, limit: int, lease_ms: int) -> tuple[list[Notice | SpoiltNotice], int | None]:
        """What is to be told now, nobody else's for so long; milliseconds until more is (None: nothing waits)."""
        ...

    async def notice_done(self, name: str, why: str = "") -> bool:
        """It was told, or is given up: why. False where it was done before."""
        ...

    async def notice_later(self, name: str, delay_ms: int) -> None: ...

    async def set_webhook(self, url: str) -> None:
        """The URL of all tasks without one of their own; '' for none."""
        ...

    async def wait_notices(self, timeout: float) -> bool:
        """Block until there is something new to tell, at most `timeout` seconds."""
        ...
