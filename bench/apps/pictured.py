"""The handlers of the pictures of `top`: mails, reports, imports; some fail, and one ends its worker."""

from __future__ import annotations

import asyncio
import os
import signal

from holdfast import Handlers

handlers = Handlers()


@handlers.register("mail.send", max_attempts=1)
async def send_mail(number: int) -> str:
    await asyncio.sleep(0.02)
    if number % 97 == 0:
        raise ConnectionError("the mail server refuses the recipient")
    return "sent"


@handlers.register("report.draw")
async def draw_report(number: int) -> str:
    await asyncio.sleep(0.2 + number % 5 / 10)
    return "drawn"


@handlers.register("import.read")
async def read_import(number: int) -> str:
    await asyncio.sleep(2.0)
    return "read"


@handlers.register("report.broken")
async def end_worker(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
