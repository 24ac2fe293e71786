"""A delivery's span is sent when the store has answered its report."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.delivery import Settle, Settlement, Verdict
from holdfast.telemetry.port import Span, UnsettledSpans


@dataclass
class Sent(Span):
    verdicts: list[Verdict | None] = field(default_factory=list["Verdict | None"])

    def settled(self, verdict: Verdict | None) -> None:
        self.verdicts.append(verdict)


def report(task_id: str, claim: str = "1:i:1") -> Settlement:
    return Settlement(task_id, claim, Settle.COMPLETED)


def test_a_span_is_sent_with_the_stores_answer_to_its_report() -> None:
    passed_on = list[Settlement]()
    spans, first, second = UnsettledSpans(), Sent(), Sent()
    take = spans.before(lambda settlement, _: passed_on.append(settlement))
    spans.add(report("t1"), first)
    spans.add(report("t2"), second)
    assert (first.verdicts, second.verdicts) == ([], [])
    take(report("t1"), Verdict.OK)
    take(report("t1"), Verdict.ALREADY)
    assert (first.verdicts, second.verdicts) == ([Verdict.OK], [])
    assert passed_on == [report("t1"), report("t1")]


def test_a_span_of_which_nothing_is_reported_is_sent_at_once() -> None:
    spans, span = UnsettledSpans(), Sent()
    spans.add(None, span)
    assert span.verdicts == [None]


def test_two_deliveries_of_a_task_have_a_span_each() -> None:
    spans, first, second = UnsettledSpans(), Sent(), Sent()
    take = spans.before(lambda settlement, verdict: None)
    spans.add(report("t"), first)
    spans.add(report("t", "2:i:3"), second)
    take(report("t", "2:i:3"), Verdict.OK)
    assert (first.verdicts, second.verdicts) == ([], [Verdict.OK])
    take(report("t"), Verdict.LOST)
    assert first.verdicts == [Verdict.LOST]
