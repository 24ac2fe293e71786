"""Imports the handler like a worker, in a separate process, and sends the result to the parent."""

from __future__ import annotations

import faulthandler
import os
import socket
import time
from collections.abc import Callable
from dataclasses import fields
from typing import NoReturn

import msgspec
import psutil

from holdfast.core import recycle
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.choose import handler_of
from holdfast.handler.handler import Handler, HandlerOptions
from holdfast.handler.publication import describe
from holdfast_config import Settings
from holdfastd.doctor.handler_import import Function, Imported, NotImported, Trial
from holdfastd.parent import fork_hazards
from holdfastd.parent.fork_hazards import ForkHazards
from holdfastd.parent.preload_handler import is_preloaded, not_shareable

STDOUT, STDERR = 1, 2


def import_handler(settings: Settings, channel: socket.socket) -> NoReturn:
    """Import the handler, send the result on one line, and end this process with all that the import has started."""
    os.dup2(STDERR, STDOUT)  # the import may print; standard output belongs to the command
    faulthandler.enable(STDERR)  # if it hangs, SIGABRT makes it print its stacks

    def answer(trial: Trial) -> None:
        channel.sendall(msgspec.json.encode(trial) + b"\n")

    _import(settings, answer)
    os._exit(ChildExit.OK)


def _import(settings: Settings, answer: Callable[[Trial], None]) -> None:
    before = fork_hazards.look()
    began = time.monotonic()
    try:
        handler = handler_of(settings)
    except HandlerError as error:
        answer(NotImported(str(error), error.traceback))
    else:
        answer(_result(settings, handler, began, before))


def _result(settings: Settings, handler: Handler, began: float, before: ForkHazards) -> Trial:
    """The result. A handler whose import alone exceeds --max-memory is refused: a worker would be this large."""
    limits = recycle.RecycleLimits(memory=settings.max_memory)
    too_heavy = recycle.refusal(limits, psutil.Process().memory_info().rss)
    return NotImported(too_heavy) if too_heavy else _imported(settings, handler, began, before)


def _imported(settings: Settings, handler: Handler, began: float, before: ForkHazards) -> Imported:
    seconds, after = time.monotonic() - began, fork_hazards.look_after_fork(before)
    threads = [name for task, name in after.threads.items() if task not in before.threads]
    functions = [Function(each.name, each.kind, list(each.takes), _chosen(each.options)) for each in describe(handler)]
    why = not_shareable(before, after) if is_preloaded(settings) else None
    children = sorted(after.children - before.children)
    return Imported(handler.target, functions, seconds, threads, children, why)


def _chosen(options: HandlerOptions) -> dict[str, object]:
    return {each.name: value for each in fields(options) if (value := getattr(options, each.name)) is not None}
