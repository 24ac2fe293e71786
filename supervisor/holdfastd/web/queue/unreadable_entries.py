"""Puts an entry that was set aside, as it is no valid task, back into its lane, or removes it."""

from __future__ import annotations

from holdfast.store.protocol import Store
from holdfastd.web.queue.errors import NotFoundError, NotPossibleError


async def put_back(store: Store, address: str) -> str:
    """Put it back into its lane; the store's word for that. Raises NotFoundError, NotPossibleError."""
    word = await store.readmit(address)
    if word == "gone":
        raise missing(address)
    if word == "cut":
        raise NotPossibleError(
            f"entry {address[:80]} cannot be put back: only its beginning was kept; push the whole entry again"
        )
    return word


async def remove(store: Store, address: str) -> None:
    """Raises NotFoundError."""
    if not await store.forget_unreadable(address):
        raise missing(address)


def missing(address: str) -> NotFoundError:
    return NotFoundError(f"entry {address[:80]} does not exist (any more)")
