"""The checker proves itself: rules taken out of the scripts and of the clients, which a play has to notice.

python -m tests.chaos.mutants [PART OF A NAME]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
from msgspec import structs

from holdfast.core import settle
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.pull_protocol import Exchange
from holdfast.store.redis import scripts
from tests.faults import clock


def script(name: str, old: str, new: str) -> dict[str, str]:
    """The product's operation or shared part of this name with one place changed, as the loader takes it."""
    source = scripts.text(name)
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {name}"
    return {name: source.replace(old, new)}


def forget_what_was_settled() -> None:
    """An answer that was lost takes the outcomes with it."""
    ordered = Exchange._ordered

    def once(self: Exchange) -> tuple[Settlement, ...]:
        found = ordered(self)
        self.unsettled = []
        return found

    Exchange._ordered = once  # type: ignore[method-assign]


def settle_before_the_end() -> None:
    """A worker that drains reports what it gives back as completed."""
    settlement = settle.settlement

    def early(*args: Any, **kwargs: Any) -> Settlement | None:
        found = settlement(*args, **kwargs)
        if found is not None and found.kind is Settle.RELEASE:
            return Settlement(found.task_id, found.claim, Settle.COMPLETED)
        return found

    from holdfast.worker import run

    run.settlement = early


def keep_the_slot_of_who_cancels_itself() -> None:
    """A delivery ends only where its handler returns or raises."""
    from holdfast.worker.run import TaskRunner

    async def deliver(self: Any, delivery: Any, running: Any, unbounded: Any) -> None:
        await running.await_earlier()
        with running.scope:
            self._end(delivery, running, await self._run_within_limit(delivery, running))

    TaskRunner._deliver = deliver  # type: ignore[method-assign]


def stop_at_an_impossible_webhook() -> None:
    """A webhook that cannot be sent ends the round in which the others are sent."""
    from holdfastd.steward.duties.webhook_duties import Webhooks

    async def give_up(self: Any, notice: Any, why: str) -> None:
        raise ValueError(why)

    Webhooks._give_up = give_up  # type: ignore[method-assign]


def stop_at_a_schedule_that_is_gone() -> None:
    """A record that cannot be read ends the round in which the others are fired."""
    from holdfast.client.schedule_fire import ScheduleFirer

    async def set_aside(self: Any, spoilt: Any) -> None:
        if spoilt:
            raise KeyError("spec")

    ScheduleFirer._set_aside = set_aside  # type: ignore[method-assign]


def work_for_ten_seconds_waits() -> None:
    """A worker claims a hundred times as much ahead as it may."""
    from holdfast.core import pull_protocol

    pull_protocol.AHEAD_WORK *= 100  # type: ignore[misc]


def all_that_is_claimed_has_begun() -> None:
    """A worker notes on its page what it claims."""
    from holdfast.worker.claims_ahead import ClaimsAhead

    take = ClaimsAhead.take

    def note_and_take(self: ClaimsAhead, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            self.context.begun.add(delivery.task_id)
        take(self, deliveries)

    ClaimsAhead.take = note_and_take  # type: ignore[method-assign]


def all_that_is_claimed_begins() -> None:
    """A worker runs what it has claimed ahead, whatever else it runs."""
    from holdfast.worker.claims_ahead import ClaimsAhead

    def places(self: ClaimsAhead, now: float) -> int:
        return len(self._state.exchange.held)

    ClaimsAhead._places = places  # type: ignore[method-assign]


def what_goes_back_is_released() -> None:
    """Tasks that have not begun go back as if they had."""
    from holdfast.worker.claims_ahead import ClaimsAhead

    remove = ClaimsAhead._remove

    def release(self: ClaimsAhead, delivery: Delivery, report: Settlement | None) -> None:
        remove(self, delivery, report and structs.replace(report, kind=Settle.RELEASE))

    ClaimsAhead._remove = release  # type: ignore[method-assign]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`replaced`: other text for scripts; `change` breaks a process of a host; `faults` are those that bring it out,
    all where none are named; `retention`: it shows once ended tasks are forgotten."""

    replaced: Mapping[str, str] = field(default_factory=dict[str, str])
    faults: tuple[str, ...] = ()
    change: Callable[[], None] | None = None
    retention: bool = False


HOLDERS = ("worker with claims ahead killed",)

MUTANTS: dict[str, Mutant] = {
    "a settlement needs no claim": Mutant(
        script("settlement", "r[2] ~= s.claim or not (state", "not (state"), ("host frozen",)
    ),
    "a claim needs no state": Mutant(script("pull", "if state ~= 'submitted' or solo == '1' or", "if solo == '1' or")),
    "recover puts nothing back": Mutant(
        script("recovery", "  if r[1] ~= 'working' or (r[2] or '') ~= claim then\n", "  if true then\n"),
        ("worker killed",),
    ),
    "waiting messages are dropped": Mutant(
        script("messages", "  if type(item) ~= 'string' then return false end", "  if true then return false end")
    ),
    "a cancel is forgotten": Mutant(
        script("task_control", "  finish(id, 'canceled', reason, has_rest(id))", "  to_tail(id)")
    ),
    "every crash puts back at once": Mutant(
        script("recovery", "  elseif crashes < SUSPECT_CRASHES then", "  elseif true then"),
        ("worker killed",),
    ),
    "audit puts nothing back": Mutant(
        script("audit", "if not is_there(id, seq) then", "if false then"), ("entries stolen",)
    ),
    "outcomes go with a lost answer": Mutant({}, ("server killed", "connections killed"), forget_what_was_settled),
    "outcomes go with a dropped request": Mutant({}, ("requests dropped",), forget_what_was_settled),
    "a message is taken as often as it comes": Mutant(
        script(
            "messages",
            "  local r = read(id, 'message', 'digest')\n  if r[1] == message",
            "  if true then return end\n  local r = read(id, 'message', 'digest')\n  if r[1] == message",
        ),
        ("requests doubled",),
    ),
    "two deaths are enough": Mutant(
        script("recovery", "local is_dead = crashes > death.runs", "local is_dead = crashes > 1"),
        ("worker killed", "worker crashed"),
    ),
    "results are kept for ever": Mutant(
        script("deletion", "    for turn = from, to, -1 do call", "    for turn = 0, 1, -1 do call"),
        ("worker stopped",),
        retention=True,
    ),
    "what is given back counts as done": Mutant({}, ("restarted",), settle_before_the_end),
    "recoveries in a row make no suspect": Mutant(
        script("recovery", "recoveries >= SUSPECT_RECOVERIES and r[1] ~= '1'", "false"),
        ("supervisor killed by a task",),
    ),
    "a handler that cancels itself keeps its slot": Mutant(
        {}, ("handler cancels itself",), keep_the_slot_of_who_cancels_itself
    ),
    "one webhook stops the others": Mutant({}, ("webhook impossible",), stop_at_an_impossible_webhook),
    "one schedule stops the others": Mutant({}, ("schedule gone",), stop_at_a_schedule_that_is_gone),
    "a death forgets the pause": Mutant(
        script("recovery", "  carry_out_pause(id, claim)\n", ""), ("pauses beside deaths",)
    ),
    "a beat from later than now stays": Mutant(
        script("reap", "call('ZRANGEBYSCORE', KEY.workers, '(' .. NOW, '+inf', 'LIMIT', 0, 256)", "{}"),
        ("clock set forward",),
    ),
    "messages wait without bound": Mutant(
        script("messages", "return is_first_to_accept and", "return false and"), ("messages flooded",)
    ),
    "what was claimed ahead is lost when it is given back": Mutant(
        script("settlement", "    count_unbegun(id)\n    to_head(id)", "    count_unbegun(id)"),
        ("lane paused", "hosts quiet"),
    ),
    "a death counts for what had not begun": Mutant(
        script("recovery", "  if not had_begun then", "  if false then"), HOLDERS
    ),
    "what is claimed counts as begun": Mutant({}, HOLDERS, all_that_is_claimed_has_begun),
    "more is claimed ahead than may be": Mutant({}, ("worker stopped",), work_for_ten_seconds_waits),
    "all that is claimed begins": Mutant({}, ("worker stopped",), all_that_is_claimed_begins),
    "what had not begun is released": Mutant({}, ("lane paused", "hosts quiet"), what_goes_back_is_released),
}


def apply(name: str) -> None:
    """Break this process and its children in the named way; nothing for no name."""
    if not name:
        return
    mutant = MUTANTS[name]
    if mutant.change is not None:
        mutant.change()
    if mutant.replaced:
        replaced = {"clock": clock.HOOK, **mutant.replaced}
        scripts.SHIPPED.update({each: scripts.build(each, replaced) for each in scripts.operations()})


async def noticed(name: str, seeds: int, seconds: float) -> str:
    """The check that noticed the mutant, or empty."""
    from tests.chaos.play import Plan, play_once

    mutant = MUTANTS[name]
    for seed in range(1, seeds + 1):
        plan = Plan(seconds=seconds, seed=seed, mutant=name, retention=mutant.retention)
        outcome = await play_once(replace(plan, faults=mutant.faults) if mutant.faults else plan)
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
