"""Imports the handler once in the parent, so that workers share its pages and start at once.

Objects that the import creates must survive a fork. Threads do not survive it; an event loop, a socket or a pipe would
be shared by all workers. Both are refused. Files stay open in the workers, as the handler expects.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NoReturn

from holdfast.core.plurals import counted
from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler.choose import check, handler_of
from holdfast_config import Settings
from holdfastd.parent import fork_hazards
from holdfastd.parent.fork_hazards import ForkHazards

LOOP = "anon_inode:[eventpoll]"
SHOWN = 5  # names shown of each kind
ADVICE = "do that in the handler, or start without --preload"


def preload_handler(settings: Settings, announce: Callable[[str], None]) -> tuple[int, ...]:
    """Import the handler; the descriptors that workers must keep open for it. Ends this process where it cannot be
    preloaded."""
    before = fork_hazards.look()
    try:
        handler_of(settings)
    except HandlerError as error:
        announce(f"{error.traceback.rstrip()}\n{error}" if error.traceback else str(error))
        _give_up(before)
    after = fork_hazards.look()
    if problems := list(objections(before, after)):
        target = check(settings)
        announce(f"{target} cannot be preloaded: its import {' and '.join(problems)}: {ADVICE}")
        _give_up(before)
    return tuple(_opened(before, after))


def objections(before: ForkHazards, after: ForkHazards) -> Iterator[str]:
    """The effects of the import that do not survive a fork, one line each."""
    threads = [name for task, name in after.threads.items() if task not in before.threads]
    if threads:
        yield f"started {_counted(threads, 'thread')}, which a forked worker would not have"
    children = [str(pid) for pid in sorted(after.children - before.children)]
    if children:
        yield f"started {_counted(children, 'process', 'processes')}"
    opened = _opened(before, after)
    shared = [target for target in opened.values() if not _is_file(target)]
    if LOOP in shared:
        yield "opened an event loop, which workers would share"
    elif shared:
        yield f"opened {_counted(shared, 'connection')}, which workers would share"


def _opened(before: ForkHazards, after: ForkHazards) -> Mapping[int, str]:
    return {number: target for number, target in after.descriptors.items() if before.descriptors.get(number) != target}


def _is_file(target: str) -> bool:
    """True for a path; `socket:[1]`, `pipe:[1]` and `anon_inode:…` are no paths."""
    return target.startswith("/")


def _counted(names: list[str], one: str, many: str = "") -> str:
    more = ", ..." if len(names) > SHOWN else ""
    return f"{counted(len(names), one, many)} ({', '.join(names[:SHOWN])}{more})"


def _give_up(before: ForkHazards) -> NoReturn:
    """End with 78 at once: processes and threads that the import has started must not keep this process alive."""
    for pid in fork_hazards.look().children - before.children:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(Exit.CONFIG)
