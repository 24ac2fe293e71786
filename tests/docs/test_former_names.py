"""Public names of the version before keep working for one release."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast
from holdfast import create_broker
from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.errors import InvalidTaskError
from holdfast.store.redis import RedisStore
from holdfast.sync import TaskManager as SyncTaskManager
from holdfast_config import RedisSettings

ONCE = SubmitRetries(attempts=1)
REDIS = RedisSettings("redis://localhost")  # nothing connects to it


def test_patience_is_submit_retries() -> None:
    from holdfast.patience import Patience

    assert Patience is SubmitRetries is holdfast.SubmitRetries


def test_results_are_read_where_they_were() -> None:
    from holdfast.results import Result, read_result

    assert (Result, read_result) == (type(holdfast.read_result(None)), holdfast.read_result)


@pytest.mark.parametrize("keyword", ["retries", "patience"])
def test_both_keywords_are_taken(keyword: str) -> None:
    given: Any = {keyword: ONCE}
    assert TaskManager(RedisStore(REDIS), queue="q", **given).retries is ONCE
    SyncTaskManager(REDIS, **given).close()
    create_broker(type="memory", **given)


def test_both_keywords_at_once_are_refused() -> None:
    for make in (
        lambda: TaskManager(RedisStore(REDIS), queue="q", retries=ONCE, patience=ONCE),
        lambda: SyncTaskManager(REDIS, retries=ONCE, patience=ONCE),
        lambda: create_broker(type="memory", retries=ONCE, patience=ONCE),
    ):
        with pytest.raises(InvalidTaskError, match="patience is the former name of retries"):
            make()
