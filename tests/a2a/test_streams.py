"""Streams: the task first, then its changes, through the deaths of workers and of the connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.a2a.conftest import ServedPool
from tests.a2a.thin_client import ThinClient, plain, text_of

STREAM = {"1.0": "SendStreamingMessage", "0.3": "message/stream"}
SUBSCRIBE = {"1.0": "SubscribeToTask", "0.3": "tasks/resubscribe"}
GET = {"1.0": "GetTask", "0.3": "tasks/get"}


class Followed:
    """What a client that puts the changes together has of a task."""

    def __init__(self, client: ThinClient, events: Iterator[dict[str, Any]]) -> None:
        self._client, self._events = client, events
        self.task: dict[str, Any] = {}
        self.artifacts: dict[str, str] = {}
        self.states: list[str] = []
        self.says: list[str] = []
        self.told = 0  # changes of artifacts

    def until(self, text: str) -> None:
        """Until an artifact has this text."""
        while text not in self.artifacts.values():
            self.take(next(self._events))

    def until_told_again(self) -> None:
        """Until the next change of an artifact."""
        count = self.told
        while self.told == count:
            self.take(next(self._events))

    def to_the_end(self) -> None:
        for event in self._events:
            self.take(event)

    def take(self, event: dict[str, Any]) -> None:
        kind, found = (event["kind"], event) if "kind" in event else next(iter(event.items()))
        match kind:
            case "task":
                self.task = found
                self._state(found["status"])
                for artifact in found.get("artifacts", ()):
                    self.artifacts[artifact["artifactId"]] = _text(artifact)
            case "statusUpdate" | "status-update":
                self._state(found["status"])
                if kind == "status-update":
                    assert found["final"] == (found["status"]["state"] not in ("submitted", "working"))
            case _:
                self.told += 1
                artifact = found["artifact"]
                before = self.artifacts.get(artifact["artifactId"], "") if found.get("append") else ""
                self.artifacts[artifact["artifactId"]] = before + _text(artifact)

    def _state(self, status: dict[str, Any]) -> None:
        self.states.append(plain({"status": status})["status"]["state"])
        self.says += [part["text"] for part in status.get("message", {}).get("parts", ())]


def _text(artifact: dict[str, Any]) -> str:
    return "".join(part["text"] for part in artifact["parts"])


def test_a_stream_begins_with_the_task_and_ends_with_its_result(client: ThinClient) -> None:
    with client.stream(STREAM[client.version], client.sending("hello")) as events:
        seen = Followed(client, events)
        seen.to_the_end()
    assert (seen.states[-1], seen.artifacts) == ("completed", {"turn-1": "You said hello"})
    assert text_of(client.get(seen.task["id"])) == "You said hello"


def test_what_a_handler_emits_comes_before_its_result(client: ThinClient, pool: ServedPool) -> None:
    gate = pool.folder / f"emits-{client.version}"
    with client.stream(STREAM[client.version], client.sending(f"hold {gate}")) as events:
        seen = Followed(client, events)
        seen.until("holding ")
        task_id = seen.task["id"]
        assert text_of(client.get(task_id)) == "holding "
        gate.touch()
        seen.to_the_end()
    assert seen.artifacts == {"turn-1": "released"}
    assert text_of(client.get(task_id)) == "released"


def test_parts_are_the_result_of_a_handler_that_returns_nothing(client: ThinClient) -> None:
    with client.stream(STREAM[client.version], client.sending("emit one two three")) as events:
        seen = Followed(client, events)
        seen.to_the_end()
    assert seen.artifacts == {"turn-1": "one two three "}
    assert text_of(client.get(seen.task["id"])) == "one two three "


def test_a_question_ends_a_stream_and_the_answer_begins_the_next(client: ThinClient) -> None:
    with client.stream(STREAM[client.version], client.sending("ask which day?")) as events:
        asked = Followed(client, events)
        asked.to_the_end()
    assert (asked.states[-1], asked.says) == ("input-required", ["which day?"])
    answer = client.sending("Friday", taskId=asked.task["id"])
    with client.stream(STREAM[client.version], answer) as events:
        done = Followed(client, events)
        done.to_the_end()
    assert (done.states[-1], done.artifacts) == ("completed", {"turn-2": "answered: Friday"})


def test_a_client_that_comes_back_has_the_same_task(client: ThinClient, pool: ServedPool) -> None:
    gate = pool.folder / f"back-{client.version}"
    with client.stream(STREAM[client.version], client.sending(f"hold {gate}")) as events:
        first = Followed(client, events)
        first.until("holding ")
    with client.stream(SUBSCRIBE[client.version], {"id": first.task["id"]}) as events:
        again = Followed(client, events)
        again.until("holding ")
        gate.touch()
        again.to_the_end()
    assert (again.states[-1], again.artifacts) == ("completed", {"turn-1": "released"})


def test_progress_is_told(client: ThinClient, pool: ServedPool) -> None:
    gate = pool.folder / f"progress-{client.version}"
    with client.stream(STREAM[client.version], client.sending(f"hold {gate}")) as events:
        seen = Followed(client, events)
        while not seen.says:
            seen.take(next(events))
        assert seen.states[-1] == "working"
        gate.touch()
        seen.to_the_end()


def test_killed_workers_cost_a_stream_nothing_but_time(client: ThinClient, pool: ServedPool) -> None:
    gate = pool.folder / f"killed-{client.version}"
    with client.stream(STREAM[client.version], client.sending(f"hold {gate}")) as events:
        seen = Followed(client, events)
        seen.until("holding ")
        assert pool.kill_workers()
        seen.until_told_again()
        assert seen.artifacts == {"turn-1": "holding "}, "the run that begins anew is told anew"
        gate.touch()
        seen.to_the_end()
    assert (seen.states[-1], seen.artifacts) == ("completed", {"turn-1": "released"})


def test_a_task_is_canceled_while_its_workers_die(client: ThinClient, pool: ServedPool) -> None:
    message = client.sending(f"hold {pool.folder / 'never'}")
    with client.stream(STREAM[client.version], message) as events:
        seen = Followed(client, events)
        seen.until("holding ")
        assert pool.kill_workers()
        cancel = "CancelTask" if client.version == "1.0" else "tasks/cancel"
        assert plain(client.call(cancel, {"id": seen.task["id"]}))["status"]["state"] == "canceled"
        seen.to_the_end()
    assert seen.states[-1] == "canceled"


def test_an_ended_task_has_no_stream(client: ThinClient) -> None:
    task = client.send("hello")
    assert client.error(SUBSCRIBE[client.version], {"id": task["id"]})["code"] == -32004
    assert client.error(SUBSCRIBE[client.version], {"id": "none"})["code"] == -32001


@pytest.mark.parametrize("end", ["answered", "asks again", "canceled"])
def test_a_subscription_to_a_question_goes_on_until_the_task_rests_again(client: ThinClient, end: str) -> None:
    """A2A 1.0, 3.1.6: it can be used with any task that is not in a terminal state."""
    asked = client.send("turn" if end == "asks again" else "ask which day?")
    with client.stream(SUBSCRIBE[client.version], {"id": asked["id"]}) as events:
        seen = Followed(client, events)
        seen.take(next(events))
        assert seen.states == ["input-required"]
        match end:
            case "answered":
                client.send("Friday", taskId=asked["id"])
            case "asks again":
                client.send("turn", taskId=asked["id"])
            case _:
                client.call("CancelTask" if client.version == "1.0" else "tasks/cancel", {"id": asked["id"]})
        seen.to_the_end()
    assert seen.states[-1] == {"answered": "completed", "asks again": "input-required"}.get(end, end)
    assert len(seen.states) > 1


def test_the_same_message_streamed_again_ends_with_the_question(client: ThinClient) -> None:
    client.send("ask which day?", message_id=f"again-{client.version}")
    sending = client.sending("ask which day?", message_id=f"again-{client.version}")
    with client.stream(STREAM[client.version], sending) as events:
        seen = Followed(client, events)
        seen.to_the_end()
    assert seen.states == ["input-required"]


def test_a_stream_that_does_not_begin_is_an_error_of_http_in_0_3(client: ThinClient) -> None:
    """A2A 0.3, 7.9: on resubscription failure, standard HTTP error code; the body may contain the error of JSON-RPC."""
    ended = client.send("hello")["id"]
    is_newer = client.version == "1.0"
    for params, status, code in (({"id": "none"}, 404, -32001), ({"id": ended}, 400, -32004), ({}, 400, -32602)):
        answer = client.post(SUBSCRIBE[client.version], params)
        assert (answer.status_code, answer.json()["error"]["code"]) == (200 if is_newer else status, code)
