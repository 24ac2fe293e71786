"""The handlers of a shop, for pictures of the dashboard: mails, invoices, imports, reports, an agent that asks."""

from __future__ import annotations

import asyncio
import enum
import os
import signal
from typing import Any

from pydantic import BaseModel, Field

from holdfast import Handlers, ParentValues, Task

handlers: Handlers[Any, Any] = Handlers()


class Region(enum.Enum):
    EUROPE = "europe"
    AMERICA = "america"
    ASIA = "asia"


class Line(BaseModel):
    sku: str
    count: int = Field(ge=1)


class CustomerNotFoundError(Exception):
    """No customer has this number."""


def quoted(plan: str, guests: int) -> dict[str, Any]:
    return {"plan": plan, "guests": guests, "price": 40 * guests}


def confirmed(order: dict[str, Any]) -> str:
    return f"table for {order['guests']}, {order['price']} euros"


@handlers.register("mail.send", max_attempts=2)
async def send_mail(task: Task, customer: int, template: str = "welcome") -> dict[str, Any]:
    """Send a customer the mail of a template."""
    await asyncio.sleep(0.02 + customer % 7 / 100)
    if customer % 41 == 0:
        raise ConnectionRefusedError("the mail server refuses the recipient")
    if customer % 67 == 0:
        raise CustomerNotFoundError(f"no customer has the number {customer}")
    return {"sent": True, "message_id": f"m-{customer}"}


@handlers.register("invoice.make", max_attempts=1)
async def make_invoice(
    region: Region, lines: list[Line], copies: int = 1, note: str = "", *, draft: bool = False
) -> str:
    """Make the invoice of an order.

    It is numbered by region, and is not sent while it is a draft."""
    await asyncio.sleep(0.15)
    if region is Region.ASIA and copies > 2:
        raise ValueError(f"{copies} copies: a region of the east has two at most")
    return f"invoice of {len(lines)} lines for {region.value}"


@handlers.register("import.read")
async def read_import(task: Task, file: str) -> int:
    """Read a file of products, line by line."""
    for part in range(8):
        task.progress(part, 8)
        await asyncio.sleep(0.6)
    return 8000


@handlers.register("report.page")
async def report_page(number: int) -> int:
    """Count the orders of a page of the report."""
    await asyncio.sleep(0.3 + number / 5)
    return 100 * number


@handlers.register("report.total")
async def report_total(counts: ParentValues[int], unit: str) -> str:
    """Add the counts of all pages up."""
    await asyncio.sleep(0.2)
    return f"{sum(counts)} {unit}"


@handlers.register("table.book")
async def book_table(task: Task, guests: int, api_key: str = "") -> str:
    """Book a table: find a plan, ask for a day, confirm."""
    plan = await task.step("find a plan", quoted, "garden", guests)
    await asyncio.sleep(0.4)
    day = await task.question(f"A table for {guests} costs {plan['price']} euros. On which day?")
    order = await task.step("confirm", confirmed, plan)
    await asyncio.sleep(0.3)
    return f"{order}, on {day}"


@handlers.register("image.resize", max_attempts=2)
async def resize_image(path: str, width: int = 800) -> str:
    """Make an image smaller; one image in the shop makes the process run out of memory."""
    await asyncio.sleep(0.1)
    if path.endswith(".tiff"):
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{path} at {width}"


@handlers.default
async def answer(messages: list[dict[str, Any]]) -> str:
    """Answer a message in plain text."""
    await asyncio.sleep(0.1)
    return f"heard: {messages[-1]['parts'][0]['text']}"
