"""The decisions of the parent keep their rules under any order of events, and a stop ends."""

from __future__ import annotations

import random
import signal

import pytest

from holdfast.ipc.channel import Acknowledged, Beat, BootFailed, Drained, Ready, SuspectsWaiting
from holdfastd.core import quarantine
from holdfastd.core.capacity import BOUNDLESS, Host
from holdfastd.core.parent_events import ChildStopped, Event, ScaleAsked, Signalled, StopAsked, StoreOpened
from holdfastd.core.slots import GIVEN_UP, STORE, Child, ChildKind, Forking, StopStage, SupervisionPolicy, Vacant
from holdfastd.core.view import View
from tests.core.histories import STEWARD, History, kills

STATUSES = [0, 1, 69, 78, 82, 83, 86, -signal.SIGKILL, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGTERM]
SIGNALS = [signal.SIGTTIN, signal.SIGTTOU, signal.SIGUSR1, signal.SIGHUP, signal.SIGHUP]


def play(history: History, chance: random.Random) -> None:
    """One thing that may happen."""
    children = [seat for seat in history.view.seats.values() if isinstance(seat, Child)]
    history.fork_fails = chance.random() < 0.1
    history.host = Host(group_processes=8) if chance.random() < 0.1 else BOUNDLESS
    if not children or chance.random() < 0.3:
        history.pass_time(
            chance.choice([0.01, 0.5, 3.0, 40.0]), silent=[c.slot for c in children if chance.random() < 0.1]
        )
        return
    child = chance.choice(children)
    match chance.randrange(6):
        case 5:
            suspect(history, chance)
        case 0:
            history.die(child.slot, chance.choice(STATUSES), oom=chance.random() < 0.1, jitter=chance.uniform(-1, 1))
        case 1 | 2:
            speak(history, child, chance)
        case 3:
            history.event(ChildStopped(child.slot, child.incarnation))
        case _:
            history.event(chance.choice([ScaleAsked(chance.randrange(-1, 9)), Signalled(chance.choice(SIGNALS))]))


def suspect(history: History, chance: random.Random) -> None:
    """The steward speaks of suspects, if it lives."""
    if history.view.child(STEWARD) is not None:
        startable = chance.randrange(5)
        quiet = "quiet: supervisor resume" if chance.random() < 0.2 else ""
        history.hear(STEWARD, SuspectsWaiting(startable, min(startable, chance.randrange(3)), quiet))


def speak(history: History, child: Child, chance: random.Random) -> None:
    if child.slot == STORE:
        history.event(StoreOpened())
        return
    messages = [
        Ready(),
        Ready(),
        Beat(["task"], 1),
        Beat([], 2, recycle_reason="old"),
        Drained(chance.randrange(2)),
        Acknowledged("somebody", 0),
    ]
    if child.slot != STEWARD:  # a first steward that says so ends the service
        messages.append(BootFailed(78, "no agent"))
    history.hear(child.slot, chance.choice(messages))


def check(history: History) -> None:
    view = history.view
    assert STEWARD in view.seats
    assert not any(isinstance(seat, Forking) for seat in view.seats.values())
    workers = [seat for slot, seat in view.seats.items() if slot.kind is ChildKind.WORKER]
    leaving = [seat.leaving.why for seat in workers if isinstance(seat, Child) and seat.leaving is not None]
    assert len(workers) - len(leaving) <= view.target + 1
    assert view.target <= len(workers) - len([why for why in leaving if why in GIVEN_UP])
    if any(isinstance(seat, Child) for seat in workers):
        assert ChildKind.STEWARD in view.ready_kinds
    check_quarantine(view)


def check_quarantine(view: View) -> None:
    children = list(view.living(ChildKind.QUARANTINE))
    staying = [child for child in children if child.leaving is None]
    assert len(staying) <= quarantine.most(view)
    for child in children:
        assert ChildKind.WORKER in view.ready_kinds
        assert view.breaker.probe != child.slot
        assert not (view.reload is not None and not view.reload.proven and child.generation == view.generation)
    assert view.boot_failures.get(ChildKind.QUARANTINE) is None
    if view.stopping is not None:
        assert not any(
            isinstance(seat, Vacant) for slot, seat in view.seats.items() if slot.kind is ChildKind.QUARANTINE
        )


def obey(history: History) -> None:
    """Children that the parent has killed are dead."""
    for seat in list(history.view.seats.values()):
        if isinstance(seat, Child) and seat.leaving is not None and seat.leaving.stage is StopStage.KILLING:
            assert signal.SIGKILL in kills(history.done, seat.slot)
            history.die(seat.slot, -signal.SIGKILL)


@pytest.mark.seeds(6, of=60)
def test_any_history_keeps_the_rules_and_any_stop_ends(seed: int) -> None:
    chance = random.Random(seed)
    history = History(chance.randrange(1, 6), SupervisionPolicy(drain_timeout=30.0, embedded=seed % 2 == 0)).started()
    for _ in range(300):
        play(history, chance)
        history.tick()
        check(history)
    end: Event = chance.choice([StopAsked(), Signalled(signal.SIGTERM), Signalled(signal.SIGQUIT)])
    history.event(end)
    for _ in range(100):
        history.pass_time(1.0)
        obey(history)
    assert history.view.over is not None
