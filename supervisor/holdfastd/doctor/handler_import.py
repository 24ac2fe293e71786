"""The handler: whether it can be imported and called, and what its import did besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from holdfast.core import plurals
from holdfastd.doctor.finding import Check, Finding

SLOW = 5.0  # seconds
FEW = 5  # names are enough
ADVICE = "start them when the handler is first called"
LOOK = Check("handler", "import and signature")


class Function(msgspec.Struct, frozen=True, omit_defaults=True):
    """As `holdfast.handler.description` describes it; `options` are those it asks for."""

    name: str
    kind: str
    takes: list[str]
    options: dict[str, Any] = {}


class Imported(msgspec.Struct, frozen=True, tag="imported"):
    """It can run. `seconds` its import took; names of `threads` and numbers of `processes` that it has started."""

    handler: str
    functions: list[Function]
    seconds: float
    threads: list[str]
    processes: list[int]


class NotImported(msgspec.Struct, frozen=True, tag="not-imported"):
    """It cannot run: why, on one line, and the user's traceback if there is one."""

    error: str
    traceback: str = ""

    @property
    def told(self) -> str:
        """As `supervisor start` tells it."""
        return f"{self.traceback.rstrip()}\n{self.error}" if self.traceback else self.error


Trial = Imported | NotImported


def judge(trial: Trial) -> Iterator[Finding]:
    """Whether it can run; and what its import did that is seldom meant."""
    match trial:
        case NotImported():
            yield LOOK.problem(trial.error, _advice(trial))
        case Imported():
            kinds = ", ".join(f"{one.name or trial.handler} is a {one.kind}" for one in trial.functions)
            yield LOOK.ok(f"{kinds}; imported in {trial.seconds:.2f} s")
            yield from warnings(trial)


def warnings(seen: Imported) -> Iterator[Finding]:
    """What every worker will have, and do again at each restart."""
    if seen.seconds > SLOW:
        fix = "import less, or later; with --preload it is imported once"
        yield LOOK.warning(f"the import takes {seen.seconds:.1f} s, and every restart of a worker as long", fix)
    if seen.threads:
        started = f"{counted(seen.threads, 'thread')} ({', '.join(seen.threads[:FEW])})"
        yield LOOK.warning(f"the import starts {started}", f"{ADVICE}; --preload refuses them")
    if seen.processes:
        yield LOOK.warning(f"the import starts {counted(seen.processes, 'process', 'processes')}", ADVICE)


def unserved(seen: Imported, lanes: Sequence[str]) -> Iterator[Finding]:
    """Handlers whose lane none of these workers takes tasks from."""
    for one in seen.functions:
        lane = one.options.get("lane")
        if lane is not None and lane not in lanes:
            found = f"the handler {one.name} has the lane {lane}, which these workers do not serve"
            yield LOOK.warning(found, f"add {lane} to --lanes, unless others serve it")


def _advice(trial: NotImported) -> str:
    return "supervisor check shows the traceback" if trial.traceback else "supervisor check tries it again"


def counted(things: Sequence[object], one: str, many: str = "") -> str:
    return plurals.counted(len(things), one, many)
