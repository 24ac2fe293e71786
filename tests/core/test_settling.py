"""The meaning of an outcome for its task."""

from __future__ import annotations

import json

import pytest

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.outcomes import (
    Completed,
    Failed,
    Failure,
    HandlerStopped,
    InputAsked,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
    failure_document,
)
from holdfast.core.settle import LONGEST, REASON_LENGTH, RetryPolicy, one_line, settlement

POLICY = RetryPolicy(max_attempts=3, base=2.0, cap=300.0)
ERROR = Failure("ValueError", "bad\nvalue", "Traceback …")


def delivery(attempts: int = 0, max_attempts: int | None = None) -> Delivery:
    return Delivery("t-1", "c-1", "lane", b"{}", 1, attempts + 1, attempts, 0, max_attempts, None, False)


def settled(outcome: Outcome, attempts: int = 0, max_attempts: int | None = None) -> Settlement:
    came_of_it = settlement(outcome, delivery(attempts, max_attempts), POLICY, 0.0)
    assert came_of_it is not None
    return came_of_it


@pytest.mark.parametrize(
    ("outcome", "kind", "reason"),
    [
        (Completed(b"{}"), Settle.COMPLETED, ""),
        (InputAsked("input-required", b"{}"), Settle.INPUT_REQUIRED, ""),
        (InputAsked("auth-required", b"{}"), Settle.AUTH_REQUIRED, ""),
        (Failed(b"{}", "no"), Settle.FAILED, "no"),
        (Rejected(b"{}", "never"), Settle.REJECTED, "never"),
    ],
)
def test_what_the_handler_says_is_settled_as_it_says(outcome: Outcome, kind: Settle, reason: str) -> None:
    assert settled(outcome, attempts=99) == Settlement("t-1", "c-1", kind, b"{}", 0, reason)


@pytest.mark.parametrize(("attempts", "delay_ms"), [(0, 2000), (1, 4000)])
def test_an_error_is_tried_again_later_and_later(attempts: int, delay_ms: int) -> None:
    assert settled(Raised(ERROR), attempts) == Settlement(
        "t-1", "c-1", Settle.RETRY, b"", delay_ms, "ValueError: bad value", error="ValueError\n\nbad value"
    )


@pytest.mark.parametrize(
    ("after", "delay_ms"), [(-1.0, 0), (0.0, 0), (2.5, 2500), (10 * LONGEST, round(LONGEST * 1000))]
)
def test_the_pause_that_a_handler_asks_for_is_kept_within_reason(after: float, delay_ms: int) -> None:
    """Also that of `Retry(after=…)` and of a schedule's task that asks for its next run."""
    assert settled(Raised(ERROR, retry_after=after)).delay_ms == delay_ms
    assert settled(Completed(b"{}", backoff=after)).delay_ms == delay_ms


def test_the_last_attempt_exhausts_the_task_and_keeps_the_error() -> None:
    last = settled(Raised(ERROR), attempts=2)
    assert (last.kind, last.delay_ms, last.reason) == (Settle.EXHAUSTED, 0, "ValueError: bad value")
    assert json.loads(last.result) == {
        "state": "failed",
        "parts": [],
        "error": {"type": "ValueError", "message": "bad\nvalue", "traceback": "Traceback …"},
    }


def test_the_delivery_may_allow_other_attempts_than_the_policy() -> None:
    assert settled(Raised(ERROR), attempts=0, max_attempts=1).kind is Settle.EXHAUSTED
    assert settled(Raised(ERROR), attempts=8, max_attempts=10).kind is Settle.RETRY


def test_a_final_error_is_not_tried_again() -> None:
    assert settled(Raised(ERROR, final=True)).kind is Settle.EXHAUSTED


def test_a_retry_waits_as_long_as_it_asked_for() -> None:
    assert settled(Raised(ERROR, retry_after=0.25)).delay_ms == 250
    assert settled(Raised(ERROR, retry_after=0)).delay_ms == 0
    assert settled(Raised(ERROR, retry_after=1.0), attempts=2).kind is Settle.EXHAUSTED


def test_jitter_shortens_the_wait() -> None:
    one = settlement(Raised(ERROR), delivery(), POLICY, 1.0)
    assert one is not None
    assert one.delay_ms == 1000


def test_an_unreadable_operation_is_set_aside_with_its_reason() -> None:
    aside = settled(UnreadableMessage("not UTF-8"))
    assert (aside.kind, aside.reason) == (Settle.UNREADABLE, "not UTF-8")
    assert json.loads(aside.result)["error"]["message"] == "not UTF-8"


@pytest.mark.parametrize("why", ["cancel", "lost", "fenced"])
def test_what_is_nobodys_any_more_is_not_reported(why: str) -> None:
    assert settlement(HandlerStopped(why), delivery(), POLICY, 0.0) is None


@pytest.mark.parametrize(("why", "kind"), [("drain", Settle.RELEASE), ("pause", Settle.SUSPENDED)])
def test_what_was_stopped_goes_back_with_its_checkpoint(why: str, kind: Settle) -> None:
    back = settlement(HandlerStopped(why), delivery(), POLICY, 0.0, b'{"page":7}')
    assert back == Settlement("t-1", "c-1", kind, b"", 0, why, b'{"page":7}')


@pytest.mark.parametrize("why", ["drain", "pause"])
def test_what_was_stopped_before_it_had_begun_goes_back_as_if_it_had_not_been_claimed(why: str) -> None:
    back = settlement(HandlerStopped(why, has_begun=False), delivery(), POLICY, 0.0)
    assert back == Settlement("t-1", "c-1", Settle.RETURNED, b"", 0, why)


@pytest.mark.parametrize(
    "outcome", [Completed(b"{}"), Raised(ERROR), Raised(ERROR, final=True), UnreadableMessage("x")]
)
def test_the_checkpoint_travels_with_every_settlement(outcome: Outcome) -> None:
    with_checkpoint = settlement(outcome, delivery(), POLICY, 0.0, b"1")
    assert with_checkpoint is not None
    assert with_checkpoint.checkpoint == b"1"


def test_a_reason_is_one_short_line() -> None:
    assert one_line(" a \n b\t\tc ") == "a b c"
    assert len(one_line("x" * 10_000)) == REASON_LENGTH


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (Completed(b"{}"), ""),
        (InputAsked("input-required", b"{}"), ""),
        (HandlerStopped("drain"), ""),
        (Failed(failure_document("failed", Failure("Failed", "no 1")), "no 1"), "Failed\n\nno #"),
        (Rejected(failure_document("rejected", Failure("Reject", "no 2")), "no 2"), "Reject\n\nno #"),
        (UnreadableMessage("byte 7"), "Unreadable\n\nbyte #"),
        (Raised(Failure("TaskTimeout", "longer than 5 s"), final=True), "TaskTimeout\n\nlonger than # s"),
    ],
)
def test_a_run_that_failed_is_settled_with_the_text_of_its_kind(outcome: Outcome, error: str) -> None:
    assert settled(outcome).error == error
