"""The checker proves itself: rules taken out of the scripts and of the clients, which a play has to notice.

python -m tests.chaos.mutants [PART OF A NAME]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

import anyio

from holdfast.broker.redis import connection, scripts
from holdfast.core import exchange, settling
from holdfast.core.deliveries import Delivery, Pulled, Settle, Settlement
from holdfast.core.exchange import Exchange, Request


def script(file: str, old: str, new: str) -> Callable[[], None]:
    """The product's script with one place changed."""

    def change() -> None:
        text = files("holdfast.lua").joinpath(file).read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        name = file.removeprefix("shared/").removesuffix(".lua") if file.startswith("shared/") else file
        replaced: Mapping[str, str] = {name: text.replace(old, new)}
        built = {name: scripts.build(name, replaced) for name in scripts.operations()}
        connection.product = lambda: built  # type: ignore[assignment]

    return change


def forget_what_was_settled() -> None:
    """An answer that was lost takes the outcomes with it."""
    ordered = Exchange._ordered

    def once(self: Exchange) -> tuple[Settlement, ...]:
        found = ordered(self)
        self.unsettled = []
        return found

    Exchange._ordered = once  # type: ignore[method-assign]


def a_number_for_every_try() -> None:
    """A request whose answer was lost is sent as a new one."""
    next_request = Exchange.next_request

    def anew(self: Exchange, most: int = exchange.UNBOUNDED) -> Request:
        if self.in_flight is not None:
            self.answered, self.in_flight = self.in_flight.number, None
        return next_request(self, most)

    Exchange.next_request = anew  # type: ignore[method-assign]


def run_what_already_runs() -> None:
    """A claim that is given again is started again."""
    answer = Exchange.answer

    def twice(self: Exchange, request: Request, pulled: Pulled) -> list[Delivery]:
        answer(self, request, pulled)
        return list(pulled.deliveries)

    Exchange.answer = twice  # type: ignore[method-assign]


def settle_before_the_end() -> None:
    """A worker that drains reports what it gives back as completed."""
    settlement = settling.settlement

    def early(*args: Any, **kwargs: Any) -> Settlement | None:
        found = settlement(*args, **kwargs)
        if found is not None and found.kind is Settle.RELEASE:
            return Settlement(found.task_id, found.claim, Settle.COMPLETED)
        return found

    from holdfast.worker import running

    running.settlement = early


MUTANTS: dict[str, Callable[[], None]] = {
    "a settlement needs no claim": script(
        "shared/settling.lua", "r[2] ~= s.claim or not OPEN[state]", "not OPEN[state]"
    ),
    "a claim needs no state": script("pull.lua", "if r[1] ~= 'submitted' or r[2] == '1' then", "if r[2] == '1' then"),
    "recover puts nothing back": script(
        "shared/recovery.lua", "if r[1] ~= 'working' or r[2] ~= claim then return end", "if true then return end"
    ),
    "waiting messages are dropped": script(
        "shared/message.lua", "  if not item then return false end", "  if true then return false end"
    ),
    "a cancel is forgotten": script(
        "shared/control.lua", "  finish(id, 'canceled', reason, has_rest(id))", "  to_tail(id)"
    ),
    "crashes are not counted": script("shared/recovery.lua", "  elseif crashes == 1 then", "  elseif true then"),
    "put back at the tail": script(
        "shared/lane.lua", "enqueue(id, r[1], r[3], r[2], 'LPUSH')", "enqueue(id, r[1], r[3], r[2], 'RPUSH')"
    ),
    "audit puts nothing back": script("audit.lua", "if not is_there(id, r[1]) then", "if false then"),
    "outcomes go with a lost answer": forget_what_was_settled,
    "a number for every try": a_number_for_every_try,
    "a claim given again runs again": run_what_already_runs,
    "what is given back counts as done": settle_before_the_end,
}


def apply(name: str) -> None:
    """Break this process and its children in the named way; nothing for no name."""
    if name:
        MUTANTS[name]()


async def noticed(name: str, seeds: int, seconds: float) -> str:
    """What noticed the mutant, or empty."""
    from tests.chaos.play import Plan, play_once

    for seed in range(1, seeds + 1):
        outcome = await play_once(Plan(seconds=seconds, seed=seed, mutant=name, retention=False))
        if outcome.breaches:
            return f"seed {seed}: {outcome.breaches[0]}"
    return ""


async def main(wanted: str) -> int:
    survivors = 0
    for name in MUTANTS:
        if wanted in name:
            by = await noticed(name, seeds=3, seconds=20.0)
            survivors += not by
            print(f"{name:40} {by[:160] or 'SURVIVED'}", flush=True)
    return survivors


if __name__ == "__main__":
    sys.exit(anyio.run(partial(main, sys.argv[1] if len(sys.argv) > 1 else "")))
