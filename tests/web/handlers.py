"""Handlers of the dashboard's tests, run by a worker in the process of the test."""

from __future__ import annotations

import enum
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, Field

from holdfast import Handlers, Task
from holdfast.app import create_broker
from holdfast.store import open_store
from holdfast.worker.context import WorkerContext, WorkerSpec
from holdfast.worker.lease_renewal import HandlerPublisher
from holdfast_config import RedisSettings, Settings

handlers: Handlers[Any, Any] = Handlers()


class Region(enum.Enum):
    EU = "eu"
    US = "us"


class Line(BaseModel):
    sku: str
    count: int = Field(ge=1)


@handlers.register("invoice")
def invoice(
    region: Region, lines: list[Line], copies: int = 1, note: str = "", due: float | None = None, *, draft: bool = False
) -> dict[str, Any]:
    """Makes <b>invoices</b>."""
    return {"region": region.value, "lines": len(lines), "copies": copies, "note": note, "due": due, "draft": draft}


@handlers.register("open")
def takes_anything(messages: list[dict[str, Any]], **more: int) -> int:
    return sum(more.values())


@handlers.register("broken", max_attempts=1)
async def broken(task: Task, why: str) -> None:
    await task.step("first", lambda: 1)
    raise ValueError(why)


def look_up(topic: str, limit: int, api_key: str) -> dict[str, Any]:
    return {"found": limit, "password": "hunter2", "text": f"{topic} " * 1000}


@handlers.register("writes")
async def writes(task: Task) -> None:
    await task.step("look up", look_up, "<otters>", 3, api_key="sk-hidden")
    for part in ("Otters hold ", "hands, token=abcd", "1234efgh5678", {"tokens": 3}):
        await task.emit(part)


@handlers.register("speaks")
async def speaks(task: Task) -> dict[str, str]:
    for word in ("Otters", " hold"):
        await task.emit({"choices": [{"delta": {"token": word}}], "access_token": "hunter2", "max_tokens": 512})
    await task.emit({"token": {"text": " hands", "id": 4711}, "tokens_used": 3})
    await task.emit({"token": "4f7a1bc09de2a6b8"})
    return {"token": "hunter2"}


@handlers.register("asks")
async def asks(task: Task) -> str:
    await task.emit({"part": 1})
    return f"you said {await task.question('Which region?')}"


@handlers.default
def echo(messages: list[dict[str, Any]]) -> str:
    return f"heard {messages[-1]['content']}"


def settings_of(redis: RedisSettings) -> Settings:
    return Settings(redis_url=redis.url, queue_name=redis.queue)


async def publish(redis: RedisSettings, published: Handlers[Any, Any] = handlers) -> None:
    """Publish the handlers as a worker does."""
    async with open_store(redis) as store:
        context = WorkerContext(WorkerSpec("publisher", 0, settings_of(redis)), store)
        await HandlerPublisher(context, published.frozen("tests:handlers")).publish()


@asynccontextmanager
async def working(redis: RedisSettings) -> AsyncGenerator[None]:
    """A worker with these handlers."""
    async with create_broker(settings_of(redis)) as broker, broker.working(handlers):
        yield
