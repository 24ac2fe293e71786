"""Children share the memory of their parent: what they would make for themselves was made before the fork."""

from __future__ import annotations

from holdfast.store.redis import scripts
from holdfast.worker import prepared_store
from holdfast_config import Settings


def test_once_scripts_are_built_only_they_are_kept() -> None:
    scripts.SHIPPED.clear()
    assert scripts.product()["pull"].source
    assert [made.cache_info().currsize for made in (scripts.text, scripts._words, scripts._statements)] == [0, 0, 0]  # pyright: ignore[reportPrivateUsage]


def test_workers_use_the_store_that_was_made_before_the_fork() -> None:
    settings, others = (Settings(redis_url="redis://localhost:1/0") for _ in range(2))
    prepared_store.prepare(settings)
    prepared = prepared_store.store_of(settings)
    assert prepared_store.store_of(settings) is prepared
    assert prepared_store.store_of(others) is not prepared
