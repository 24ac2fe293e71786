"""Registering: a worker, the lanes and the handlers that it serves."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from holdfast.core.worker_records import ServedLane, ServedLimits, ServedWork
from tests.lua.namespace import Namespace
from tests.lua.operations import introduction

pytestmark = pytest.mark.anyio


async def hash_of(space: Namespace, incarnation: str) -> dict[str, str]:
    found = (await space.check())[space.key(f"worker:{incarnation}")]["content"]
    assert isinstance(found, dict)
    return found


async def test_a_worker_registers_its_lanes_with_weights_and_timeouts(space: Namespace) -> None:
    lanes = (ServedLane(space.queue, 3, 1.5), ServedLane(f"{space.keys.prefix}lane:mail", 1))
    await space.store.register(replace(introduction("w"), service=ServedWork(lanes)))
    told = await hash_of(space, "w")
    assert json.loads(told["lanes"]) == [[space.queue, 3, 1.5], ["mail", 1, None]]
    assert told["names"] == "*"


async def test_the_same_names_are_kept_once(space: Namespace) -> None:
    for incarnation in ("a", "b"):
        service = ServedWork((ServedLane(space.queue),), frozenset({"mail.send", ""}))
        await space.store.register(replace(introduction(incarnation), service=service))
    digests = {(await hash_of(space, incarnation))["names"] for incarnation in ("a", "b")}
    [digest] = digests
    assert sorted(await space.do("SMEMBERS", space.key(f"names:{digest}"))) == [b"", b"mail.send"]
    assert list(await space.do("SMEMBERS", space.key("handlers"))) == [digest.encode()]


async def test_a_worker_that_does_not_say_what_it_serves_registers_neither(space: Namespace) -> None:
    await space.store.register(introduction("w"))
    assert not {"lanes", "names"} & (await hash_of(space, "w")).keys()


async def test_the_strictest_limits_count_and_attempts_are_those_of_the_lane(space: Namespace) -> None:
    here, mail = ServedLane(space.queue), ServedLane(f"{space.keys.prefix}lane:mail")
    services = {
        "a": ServedWork((here,), limits=ServedLimits(5, 60.0, 900.0)),
        "b": ServedWork((here,), limits=ServedLimits(7, 30.5, 1000.0)),
        "c": ServedWork((mail,), limits=ServedLimits(2, 90.0, 800.0)),
        "silent": ServedWork((here,)),
    }
    for name, service in services.items():
        await space.store.register(replace(introduction(name), service=service))
    [state] = await space.store.service([(space.queue, "")])
    assert state.limits == ServedLimits(5, 30.5, 800.0)


async def test_without_a_worker_that_tells_its_limits_there_are_none(space: Namespace) -> None:
    await space.store.register(replace(introduction("silent"), service=ServedWork((ServedLane(space.queue),))))
    [state] = await space.store.service([(space.queue, "")])
    assert state.limits is None
