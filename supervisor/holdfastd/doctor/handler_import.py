"""The result of the handler's import, as a value, and the findings that follow from it.

The module handler_trial imports the handler, in a child process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from holdfast.core.words import counted
from holdfastd.doctor.finding import Check, Finding

SLOW = 5.0  # seconds
SHOWN = 5  # names of threads that a finding shows
ADVICE = "start them at the first call of the handler, not at its import"

_HANDLER = Check("handler", "import and signature")
_OWNER = Check("handler", "owner of its code")


class Function(msgspec.Struct, frozen=True, omit_defaults=True):
    """One function of the handler, as `holdfast.handler.publication` describes it. `options`: the options that its
    registration sets."""

    name: str
    kind: str
    takes: list[str]
    options: dict[str, Any] = {}


class DeclaredSchedule(msgspec.Struct, frozen=True):
    """One schedule that the application's code declares. `fires`: in words, when the schedule makes its tasks. `name`:
    the handler of its tasks; empty for the default handler."""

    schedule_id: str
    fires: str
    name: str


class Imported(msgspec.Struct, frozen=True, tag="imported"):
    """The result of an import that succeeded. The import took `seconds`, and started `threads` (names) and `processes`
    (pids). `schedules`: the schedules that the code declares. `not_preloaded`: why workers cannot share one import;
    empty if they can; None if the settings do not ask for it."""

    handler: str
    functions: list[Function]
    seconds: float
    threads: list[str]
    processes: list[int]
    schedules: list[DeclaredSchedule] = []
    not_preloaded: str | None = None


class NotImported(msgspec.Struct, frozen=True, tag="not-imported"):
    """The result of an import that failed. `error`: one line. `traceback`: the traceback of the user's code, or
    empty."""

    error: str
    traceback: str = ""

    @property
    def message(self) -> str:
        """The lines that `supervisor start` would print for this error."""
        return f"{self.traceback.rstrip()}\n{self.error}" if self.traceback else self.error


Trial = Imported | NotImported


def judge_owner(refusal: str) -> Iterator[Finding]:
    """Judge the owner of the code. `refusal`: the reason why root does not run the code, and what to do; empty if root
    runs it."""
    if refusal:
        text, _, fix = refusal.partition(": ")
        yield _OWNER.problem(text, fix)


def judge(trial: Trial, *, is_named: bool) -> Iterator[Finding]:
    """Judge the import. `is_named`: the settings name a handler, so it is a problem if there is none."""
    match trial:
        case NotImported() if not is_named and not trial.traceback:
            yield _HANDLER.note(f"not checked: {trial.error}", "supervisor doctor HANDLER")
        case NotImported():
            yield _HANDLER.problem(trial.error, _advice(trial))
        case Imported():
            kinds = ", ".join(f"{each.name or trial.handler} is a {each.kind}" for each in trial.functions)
            yield _HANDLER.ok(f"{kinds}; imported in {trial.seconds:.2f} s")
            yield from judge_side_effects(trial)


def judge_side_effects(imported: Imported) -> Iterator[Finding]:
    """Judge the effects of the import. They happen in each worker, and again at each restart."""
    if imported.seconds > SLOW:
        when = "before the first worker starts" if imported.not_preloaded == "" else "at each start of a worker"
        yield _HANDLER.warning(f"the import takes {imported.seconds:.1f} s, {when}", "import less, or import later")
    if imported.not_preloaded:
        text = f"the handler is not preloaded, each worker imports it: {imported.not_preloaded}"
        yield _HANDLER.warning(text, "do these things at the first call of the handler, not at its import")
    if imported.threads:
        names = ", ".join(imported.threads[:SHOWN])
        text = f"the import starts {counted(len(imported.threads), 'thread')} ({names})"
        yield _HANDLER.warning(text, ADVICE)
    if imported.processes:
        text = f"the import starts {counted(len(imported.processes), 'process', 'processes')}"
        yield _HANDLER.warning(text, ADVICE)


def judge_lanes(imported: Imported, lanes: Sequence[str]) -> Iterator[Finding]:
    """Judge the lanes of the handlers. A lane that the workers of these settings do not serve is probably a mistake."""
    for each in imported.functions:
        lane = each.options.get("lane")
        if lane is not None and lane not in lanes:
            text = f"the handler {each.name} has the lane {lane}, which these workers do not serve"
            yield _HANDLER.warning(text, f"add {lane} to --lanes, unless other workers serve it")


def _advice(trial: NotImported) -> str:
    return "supervisor check shows the traceback" if trial.traceback else "supervisor check tries it again"
