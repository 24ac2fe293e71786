"""What workers publish of their handlers, and that it comes and goes with them."""

from __future__ import annotations

import datetime
import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from holdfast import Handlers, Task
from holdfast.core.published_handlers import (
    MOST_BYTES,
    MOST_BYTES_OF_ALL,
    PublishedHandler,
    flaws,
    read_published,
    spelled,
)
from holdfast.core.worker_records import WorkerKind
from holdfast.handler.publication import publication
from holdfast.store import open_store
from holdfast.worker.context import WorkerContext, WorkerSpec
from holdfast.worker.lease_renewal import HandlerPublisher
from holdfast_config import RedisSettings, Settings

pytestmark = pytest.mark.anyio


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    sku: str
    count: int = Field(ge=1)


class Address(msgspec.Struct):
    city: str


LONG = "a long default" * 300


class Strange:
    """A type that has no schema."""


handlers: Handlers[Any, Any] = Handlers()


@handlers.register("ship", lane="shipping", max_attempts=5, timeout=60)
def ship(
    messages: list[dict[str, Any]],
    task: Task,
    color: Color,
    lines: list[Line],
    to: Address,
    day: datetime.date,
    speed: Literal["slow", "fast"] = "slow",
    copies: Annotated[int, Field(le=9)] = 1,
    strange: Strange | None = None,
    anything: Any = None,
) -> None:
    """Sends parcels.

    Many.
    """


@handlers.default
def anything(messages: list[dict[str, Any]]) -> None:
    """Takes texts."""


def published(registry: Handlers[Any, Any] = handlers) -> dict[str, PublishedHandler]:
    return {each.name: each for each in publication(registry.frozen("app:handlers"))}


def test_a_signature_becomes_a_schema_of_what_a_task_gives() -> None:
    ship = published()["ship"]
    assert (ship.lane, ship.max_attempts, ship.timeout, ship.takes_text) == ("shipping", 5, 60, True)
    assert ship.summary == "Sends parcels."
    schema = ship.arguments
    assert schema is not None
    assert list(schema["properties"]) == ["color", "lines", "to", "day", "speed", "copies", "strange", "anything"]
    assert schema["required"] == ["color", "lines", "to", "day"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["color"]["enum"] == ["red", "blue"]
    assert properties["speed"] == {"enum": ["slow", "fast"], "type": "string", "default": "slow"}
    assert (properties["copies"]["maximum"], properties["copies"]["default"]) == (9, 1)
    assert properties["strange"] == {"default": None}
    assert {"Line", "Address"} <= schema["$defs"].keys()
    good = {"color": "red", "lines": [{"sku": "a", "count": 1}], "to": {"city": "x"}, "day": "2026-01-01"}
    assert flaws(schema, good) == []
    assert [each.place for each in flaws(schema, {**good, "to": {}})] == ["to.city"]


def test_a_function_without_a_name_has_no_arguments() -> None:
    assert published()[""] == PublishedHandler("", takes_text=True, summary="Takes texts.")


def test_one_that_is_too_large_is_kept_without_its_arguments() -> None:
    large = PublishedHandler("x", arguments={"properties": {"y" * MOST_BYTES: {}}})
    assert read_published(spelled(large)) == PublishedHandler("x")
    assert read_published(b"[]") is None
    assert read_published(b"\xff") is None


def test_a_default_that_json_has_not_is_left_out() -> None:
    registry: Handlers[Any, Any] = Handlers()

    @registry.register("x")
    def x(a: object = object(), b: float = float("inf"), c: bytes = b"\xff", **more: int) -> None: ...

    schema = published(registry)["x"].arguments
    assert schema is not None
    assert all("default" not in each for each in schema["properties"].values())
    assert schema["additionalProperties"] is True


@pytest.mark.parametrize(
    ("slot", "kind", "publishes"), [(0, "worker", True), (1, "worker", False), (0, "quarantine", False)]
)
async def test_one_worker_of_a_pool_publishes_its_handlers(
    redis_settings: RedisSettings, slot: int, kind: str, publishes: bool
) -> None:
    settings = Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue)
    async with open_store(redis_settings) as store:
        spec = WorkerSpec("i", slot, settings, WorkerKind(kind))
        await HandlerPublisher(WorkerContext(spec, store), handlers.frozen("app:handlers")).publish()
        found = {each.name: each for each in await store.published_handlers()}
        assert found == (published() if publishes else {})
        assert await store.published_handler("ship") == found.get("ship")


async def test_of_handlers_that_do_not_fit_the_names_are_published(redis_settings: RedisSettings) -> None:
    registry: Handlers[Any, Any] = Handlers()
    for number in range(100):
        registry.register(f"h{number:02}")(_long)
    settings = Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue)
    async with open_store(redis_settings) as store:
        context = WorkerContext(WorkerSpec("i", 0, settings), store)
        await HandlerPublisher(context, registry.frozen("app:handlers")).publish()
        found = await store.published_handlers()
    assert [each.name for each in found] == [f"h{number:02}" for number in range(100)]
    kept = [each for each in found if each.arguments is not None]
    assert 0 < len(kept) < 100
    assert sum(len(spelled(each)) for each in kept) <= MOST_BYTES_OF_ALL


def _long(text: str = LONG) -> None: ...
