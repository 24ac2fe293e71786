"""The handler imported as a worker imports it, in a process that ends with it; what came of it is the answer."""

from __future__ import annotations

import faulthandler
import os
import socket
import time
from collections.abc import Callable
from dataclasses import fields
from typing import NoReturn

import anyio
import msgspec
import psutil

from holdfast.core import recycle
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.choose import handler_of
from holdfast.handler.description import describe
from holdfast.handler.handler import Handler
from holdfast.handler.handler_options import HandlerOptions
from holdfast_config import Settings
from holdfastd.doctor.handler_import import Function, Imported, NotImported, Trial
from holdfastd.parent import fork_hazards
from holdfastd.parent.fork_hazards import ForkHazards
from holdfastd.parent.preload_handler import preload_handler

STDOUT, STDERR = 1, 2


def try_import(settings: Settings, channel: socket.socket) -> NoReturn:
    """Import, answer with one line, and end, whatever else the import has started."""
    os.dup2(STDERR, STDOUT)  # what an import prints is no part of a command's answer
    faulthandler.enable(STDERR)  # ended for hanging, it shows where

    def answer(trial: Trial) -> None:
        channel.sendall(msgspec.json.encode(trial) + b"\n")

    if settings.preload:
        before = fork_hazards.look()
        began = time.monotonic()
        preload_handler(settings, lambda told: answer(NotImported(told)))  # ends this process where it is refused
        answer(_tried(settings, handler_of(settings), began, before))
    else:
        anyio.run(_in_a_loop, settings, answer, backend_options={"use_uvloop": True})
    os._exit(ChildExit.OK)


async def _in_a_loop(settings: Settings, answer: Callable[[Trial], None]) -> None:
    """Answers at once: what the import has left in the loop may keep it from ending."""
    before = fork_hazards.look()
    began = time.monotonic()
    try:
        handler = handler_of(settings)
    except HandlerError as error:
        answer(NotImported(str(error), error.traceback))
    else:
        answer(_tried(settings, handler, began, before))


def _tried(settings: Settings, handler: Handler, began: float, before: ForkHazards) -> Trial:
    """This process is as large as a worker that has imported the handler."""
    limits = recycle.RecycleLimits(memory=settings.max_memory)
    too_heavy = recycle.refusal(limits, psutil.Process().memory_info().rss)
    return NotImported(too_heavy) if too_heavy else _imported(handler, began, before)


def _imported(handler: Handler, began: float, before: ForkHazards) -> Imported:
    seconds, after = time.monotonic() - began, fork_hazards.look()
    threads = [name for task, name in after.threads.items() if task not in before.threads]
    functions = [Function(one.name, one.kind, list(one.takes), _asked(one.options)) for one in describe(handler)]
    return Imported(handler.target, functions, seconds, threads, sorted(after.children - before.children))


def _asked(options: HandlerOptions) -> dict[str, object]:
    return {one.name: value for one in fields(options) if (value := getattr(options, one.name)) is not None}
