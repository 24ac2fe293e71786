"""The play in one line, and all plays in one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from tests.chaos import causes, checks, claims
from tests.chaos.measure import quantile
from tests.chaos.nemesis import FAULTS
from tests.chaos.play import Outcome


def figures(outcome: Outcome) -> dict[str, float]:
    """The counts of a play."""
    evidence = outcome.evidence
    kinds = Counter(event["event"] for event in evidence.events)
    ended = checks.ends(evidence)
    again = causes.extra_starts(evidence.events)
    return {
        "accepted": kinds["accepted"],
        "ended": sum(bool(state) for state in ended.values()),
        "done": sum(bool(state) for state in ended.values()) - kinds["dead-letter"],
        "going on": sum(not state for state in ended.values()),
        "set aside": evidence.set_aside,
        "refused": sum(line.get("answer") == "refused" for line in evidence.clients),
        "starts": sum(line["what"] == "start" for line in evidence.runs),
        "crashed": kinds["crashed"],
        "recovered": kinds["recovered"],
        "released": kinds["release"],
        "returned": kinds["returned"],
        "claimed ahead": claims.claimed_ahead(evidence.events, evidence.begun, evidence.concurrency),
        "dead letters": kinds["dead-letter"],
        "faults": sum(outcome.struck.values()),
        "snapshots": outcome.snapshots,
        "extra starts": sum(again.values()) - again["nothing"],
        "unexplained": again["nothing"],
        "lost": sum(breach.startswith("lost") for breach in outcome.breaches),
        "committed twice": sum(breach.startswith("I7") for breach in outcome.breaches),
        "breaches": len(outcome.breaches),
    }


def line(outcome: Outcome) -> str:
    text = " ".join(f"{name}={value:g}" for name, value in figures(outcome).items())
    return f"seed {outcome.plan.seed}: {text} {_recovery([outcome])} seconds={outcome.seconds:.0f}"


def total(outcomes: Sequence[Outcome]) -> str:
    sums: Counter[str] = Counter()
    for outcome in outcomes:
        sums.update(figures(outcome))
    text = " ".join(f"{name}={value:g}" for name, value in sums.items())
    verdict = "BROKEN" if sums["breaches"] else "balanced"
    return f"ledger: plays={len(outcomes)} {text} {_recovery(outcomes)}: {verdict}"


def recoveries(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each fault that something had to recover from."""
    delays: defaultdict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for fault, times in outcome.recoveries.items():
            delays[fault] += times
    return [f"recovery of {fault}: {_quantiles(delays[fault])}" for fault in FAULTS if fault in delays]


def _quantiles(seconds: list[float]) -> str:
    p50, p99 = (quantile(seconds, share) * 1000 for share in (0.5, 0.99))
    return f"times={len(seconds)} p50={p50:.0f}ms p99={p99:.0f}ms"


def _recovery(outcomes: Sequence[Outcome]) -> str:
    seconds = [took for outcome in outcomes for times in outcome.recoveries.values() for took in times]
    return f"recovery_p50={quantile(seconds, 0.5) * 1000:.0f}ms p99={quantile(seconds, 0.99) * 1000:.0f}ms"
