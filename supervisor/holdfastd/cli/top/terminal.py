"""Reads single keys from a terminal."""

from __future__ import annotations

import os
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.store.protocol import Store
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import operate_in
from holdfastd.cli.top.panes import Row
from holdfastd.cli.top.screen_state import Order
from holdfastd.operations.hosts import QUIET_HOSTS, RESUME_HOSTS

_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "OA": "up",
    "OB": "down",
    "OC": "right",
    "OD": "left",
    "[5~": "page up",
    "[6~": "page down",
}
_NAMES = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    " ": "space",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
}
_ESCAPE = "\x1b"


@contextmanager
def unbuffered(descriptor: int) -> Generator[None]:
    """Keys arrive one by one and are not shown, until the end."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor, termios.TCSADRAIN)
        after = termios.tcgetattr(descriptor)
        after[1] = before[1]  # lines that are printed go on beginning at the left
        termios.tcsetattr(descriptor, termios.TCSADRAIN, after)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(descriptor: int) -> list[str]:
    """The names of the keys that were pressed; empty where the terminal is gone."""
    try:
        raw = os.read(descriptor, 1024)
    except OSError:
        return []
    return names_of(raw.decode(errors="ignore"))


def names_of(typed: str) -> list[str]:
    """A character for each key that prints one, else a name. An unknown sequence is passed over."""
    keys: list[str] = []
    while typed:
        first, rest = typed[0], typed[1:]
        if first == _ESCAPE and rest[:1] in {"[", "O"}:
            size = next((i for i, char in enumerate(rest[1:], 2) if char.isalpha() or char == "~"), len(rest))
            name = _SEQUENCES.get(rest[:size])
            keys += [name] if name else []
            typed = rest[size:]
            continue
        name = "escape" if first == _ESCAPE else _NAMES.get(first, first)
        keys += [name] if len(name) > 1 or name.isprintable() else []
        typed = rest
    return keys


# Carries out what an operator has confirmed in `top`.

REASON = "ordered in top"


async def carry_out(order: Order, row: Row, session: Session, store: Store) -> str:
    """One line on what was done, or why nothing was."""
    lost = list[str]()  # of the note in Activity
    match order:
        case Order.QUIET if row.host:
            given = {"host": row.host, "reason": "in top"}
            done = await operate_in(store, session, QUIET_HOSTS, given, tell=lost.append)
            return "; ".join([f"host {row.host} is quiet{'' if done['changed'] else ' already'}", *lost])
        case Order.RESUME if row.host:
            ended = await operate_in(store, session, RESUME_HOSTS, {"host": row.host}, tell=lost.append)
            return "; ".join(
                [f"host {row.host} {'claims tasks again' if ended['changed'] else 'was not quiet'}", *lost]
            )
        case Order.RETRY if row.task_id:
            answer = await store.retry(row.task_id, REASON)
            return f"task {row.task_id}: {answer.word}"
        case Order.CANCEL if row.task_id:
            return f"task {row.task_id} is {await store.cancel(row.task_id, REASON)}"
        case Order.QUIET | Order.RESUME:
            return f"{order}: select a worker first (pane 1)"
        case _:
            return f"{order}: select a task first"
