"""A store is one class of many parts: a name that stood in two of them would silently be that of the first."""

from __future__ import annotations

import inspect
from collections import defaultdict

import pytest

from holdfast.store.ledger import PostgresStore
from holdfast.store.memory import MemoryStore
from holdfast.store.redis import RedisStore
from holdfast.store.redis.connection import RedisPart


def test_each_name_stands_in_one_part() -> None:
    places = defaultdict[str, list[str]](list)
    for part in RedisStore.__mro__[1:-1]:
        for name, value in vars(part).items():
            if inspect.isfunction(value) and name != "__init__":
                places[name].append(part.__name__)
    assert {name: parts for name, parts in places.items() if len(parts) > 1} == {}


@pytest.mark.parametrize("store", [MemoryStore, PostgresStore])
def test_other_stores_replace_no_private_step_of_a_part(store: type[RedisStore]) -> None:
    below = {name for part in RedisStore.__mro__[:-1] for name in vars(part)}
    own = {name for part in store.__mro__ if not issubclass(RedisStore, part) for name in vars(part)}
    assert {name for name in below & own if name.startswith("_") and not name.startswith("__")} == set()


def test_each_call_says_what_it_does() -> None:
    calls = {name: value for name, value in inspect.getmembers(RedisStore, inspect.isfunction) if name[0] != "_"}
    assert len(calls) > 140
    assert [name for name, call in calls.items() if not call.__doc__] == []
    assert issubclass(RedisStore, RedisPart)
