"""The receiver of the tests takes what the SDK sends, and behaves badly when it is to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.telemetry.receiver import GRPC, HTTP, PATIENCE, Mode, Receiver, Signal, attributes, receiving


@pytest.fixture(scope="module", params=[HTTP, GRPC])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with receiving(request.param) as receiver:
        yield receiver


def sender(receiver: Receiver, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.telemetry.sender", receiver.endpoint, receiver.protocol, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def result(sender: subprocess.Popen[str]) -> list[str]:
    with sender:
        return sender.communicate(timeout=PATIENCE)[0].split()


def test_what_is_sent_arrives(receiver: Receiver) -> None:
    receiver.become(Mode.NORMAL)
    assert result(sender(receiver, 10)) == ["SUCCESS", "SUCCESS"]
    received = receiver.until(receiver.spans_with_resource)[0]
    assert received.resource["service.name"] == "sender"
    assert (received.item.name, attributes(received.item.attributes)) == ("a span", {"count": 3, "names": ["a", "b"]})
    assert [(each.name, each.sum.data_points[0].as_int) for each in receiver.until(receiver.metrics)] == [
        ("a.counter", 2)
    ]


def test_a_receiver_that_hangs_answers_once_it_is_normal(receiver: Receiver) -> None:
    receiver.become(Mode.HANGS)
    waiting = sender(receiver, 60)
    receiver.until(lambda: receiver.requests[Mode.HANGS, Signal.TRACES])
    assert waiting.poll() is None
    receiver.become(Mode.NORMAL)
    assert result(waiting) == ["SUCCESS", "SUCCESS"]


@pytest.mark.parametrize("mode", [Mode.REFUSES, Mode.ANSWERS_500])
def test_a_receiver_that_is_away_or_broken_takes_nothing(receiver: Receiver, mode: Mode) -> None:
    receiver.become(mode)
    kept = len(receiver.spans())
    assert result(sender(receiver, 0.5)) == ["FAILURE", "FAILURE"]
    assert len(receiver.spans()) == kept
    assert bool(receiver.requests[mode, Signal.TRACES]) is (mode is Mode.ANSWERS_500)
    receiver.become(Mode.NORMAL)
    assert result(sender(receiver, 10)) == ["SUCCESS", "SUCCESS"]
