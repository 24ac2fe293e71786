"""Push notifications: clients name a URL, and are told there when a task ends or asks for something."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from tests.a2a.conftest import ServedPool
from tests.a2a.thin_client import TOKEN, VIEWER, ThinClient, plain

SEND = {"1.0": "SendMessage", "0.3": "message/send"}
METHODS = {
    "1.0": "CreateTaskPushNotificationConfig GetTaskPushNotificationConfig ListTaskPushNotificationConfigs "
    "DeleteTaskPushNotificationConfig",
    "0.3": "tasks/pushNotificationConfig/set tasks/pushNotificationConfig/get tasks/pushNotificationConfig/list "
    "tasks/pushNotificationConfig/delete",
}


class Receiver:
    """A server that takes what it is told; `url` of it. At `refusing_url` it answers that it is away."""

    def __init__(self) -> None:
        self.told: queue.Queue[tuple[dict[str, str], Any]] = queue.Queue()
        told = self.told

        class Taker(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                told.put(({name.lower(): value for name, value in self.headers.items()}, json.loads(body)))
                self.send_response(503 if self.path == "/away" else 204)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Taker)
        base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.url, self.refusing_url = f"{base}/told", f"{base}/away"

    def any(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Headers, and the task with the state's name of 0.3."""
        headers, body = self.told.get(timeout=60)
        return headers, plain(body.get("task", body))

    def next(self) -> tuple[dict[str, str], dict[str, Any]]:
        """The next of a task that does not work any more."""
        while (told := self.any())[1]["status"]["state"] == "working":
            pass
        return told


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    taker = Receiver()
    thread = Thread(target=taker.server.serve_forever)
    thread.start()
    yield taker
    taker.server.shutdown()
    thread.join()
    taker.server.server_close()


def push(client: ThinClient, url: str, name: str = "mine") -> dict[str, Any]:
    """Settings as they go with a message."""
    known = {"scheme": "Bearer"} if client.version == "1.0" else {"schemes": ["Bearer"]}
    return {"id": name, "url": url, "token": "a token", "authentication": known | {"credentials": "hidden"}}


def configuration(client: ThinClient, url: str) -> dict[str, Any]:
    name = "taskPushNotificationConfig" if client.version == "1.0" else "pushNotificationConfig"
    return {name: push(client, url)}


def named(client: ThinClient, task_id: str, name: str = "mine") -> dict[str, Any]:
    """The parameters that name the settings of a task."""
    if client.version == "1.0":
        return {"taskId": task_id, "id": name}
    return {"id": task_id, "pushNotificationConfigId": name}


def setting(client: ThinClient, task_id: str, url: str, name: str = "mine") -> dict[str, Any]:
    config = push(client, url, name)
    if client.version == "1.0":
        return {"taskId": task_id, **config}
    return {"taskId": task_id, "pushNotificationConfig": config}


def test_a_client_is_told_of_a_question_and_of_the_end(client: ThinClient, receiver: Receiver) -> None:
    asked = client.send("ask which day?", configuration=configuration(client, receiver.url))
    headers, task = receiver.next()
    assert (task["id"], task["status"]["state"]) == (asked["id"], "input-required")
    assert (headers["x-a2a-notification-token"], headers["authorization"]) == ("a token", "Bearer hidden")
    assert headers["content-type"] == f"application/{'a2a+' if client.version == '1.0' else ''}json"
    client.send("Friday", taskId=asked["id"])
    _, task = receiver.next()
    assert (task["id"], task["status"]["state"]) == (asked["id"], "completed")
    assert task["artifacts"][0]["parts"][0]["text"] == "answered: Friday"


def test_settings_that_come_with_an_answer_are_told_of_the_rest_of_the_task(
    client: ThinClient, receiver: Receiver
) -> None:
    task_id = client.send("ask which day?")["id"]
    client.send("Friday", taskId=task_id, configuration=configuration(client, receiver.url))
    headers, task = receiver.next()
    assert (task["id"], task["status"]["state"]) == (task_id, "completed")
    assert headers["x-a2a-notification-token"] == "a token"


def test_a_client_is_told_that_its_task_works_and_how_far_it_is(
    client: ThinClient, receiver: Receiver, pool: ServedPool
) -> None:
    gate = pool.folder / f"told-{client.version}"
    chosen = configuration(client, receiver.url)
    task_id = client.send(f"hold {gate}", wait=False, configuration=chosen)["id"]
    ids, says = set[str](), ""
    while not says:
        headers, task = receiver.any()
        assert (task["id"], task["status"]["state"]) == (task_id, "working")
        assert headers["webhook-id"] not in ids, "what is new has an id of its own"
        ids.add(headers["webhook-id"])
        says = task["status"].get("message", {"parts": [{"text": ""}]})["parts"][0]["text"]
    gate.touch()
    assert receiver.next()[1]["status"]["state"] == "completed"


def test_a_webhook_of_a_producer_is_told_of_no_work(receiver: Receiver, pool: ServedPool) -> None:
    client, gate = pool.client(), pool.folder / "of-producer"
    task_id = pool.cli("submit", f"hold {gate}", "--webhook", f"{receiver.url}?own", "--json").document["task_id"]
    client.call("CreateTaskPushNotificationConfig", setting(client, task_id, receiver.url))
    assert pool.kill_workers()
    told = [receiver.told.get(timeout=60)[1]]
    gate.touch()
    while told[-1].get("type") != "task.completed":
        told.append(receiver.told.get(timeout=60)[1])
    assert told[0]["task"]["status"]["state"] == "TASK_STATE_WORKING"
    assert [each["type"] for each in told if "type" in each] == ["task.completed"]


def test_settings_are_set_read_listed_and_removed(client: ThinClient, receiver: Receiver) -> None:
    setter, getter, lister, remover = METHODS[client.version].split()
    task_id = client.send("ask what?")["id"]
    made = client.call(setter, setting(client, task_id, receiver.url))
    assert client.call(getter, named(client, task_id)) == made
    assert "hidden" not in json.dumps(made), "credentials are written, and never read"
    client.call(setter, setting(client, task_id, f"{receiver.url}/two", "two"))
    of_task = {"taskId": task_id} if client.version == "1.0" else {"id": task_id}
    listed = client.call(lister, of_task)
    assert len(listed["configs"] if client.version == "1.0" else listed) == 2
    client.send("this", taskId=task_id)
    assert [receiver.next()[1]["id"] for _ in range(2)] == [task_id] * 2
    for _ in range(2):
        assert not client.call(remover, named(client, task_id))
    assert client.error(getter, named(client, task_id))["code"] == -32001
    for method, params in ((setter, setting(client, "none", receiver.url)), (getter, named(client, "none"))):
        assert client.error(method, params)["code"] == -32001


def test_nothing_is_told_where_settings_were_removed(client: ThinClient, receiver: Receiver) -> None:
    setter, _, _, remover = METHODS[client.version].split()
    task_id = client.send("ask what?")["id"]
    client.call(setter, setting(client, task_id, receiver.url))
    client.call(remover, named(client, task_id))
    client.send("this", taskId=task_id)
    later = client.send("hello", configuration=configuration(client, receiver.url))
    assert receiver.next()[1]["id"] == later["id"]


def test_a_notice_that_waits_goes_where_settings_are_left_and_else_nowhere(
    client: ThinClient, receiver: Receiver, pool: ServedPool
) -> None:
    setter, _, _, remover = METHODS[client.version].split()
    task_id = client.send("ask what?", configuration=configuration(client, receiver.refusing_url))["id"]
    assert receiver.next()[1]["id"] == task_id
    other = receiver.refusing_url.replace("127.0.0.1", "localhost")
    client.call(setter, setting(client, task_id, other, "two"))
    client.call(remover, named(client, task_id))
    assert waiting(pool, task_id) == {other.replace("/away", "/***")}
    client.call(remover, named(client, task_id, "two"))
    assert waiting(pool, task_id) == set()


def waiting(pool: ServedPool, task_id: str) -> set[str]:
    """The URLs of the notices of a task that wait."""
    shown = pool.http.get(f"{pool.base}/api/v1/webhooks", headers={"authorization": f"Bearer {TOKEN}"}).json()
    return {each["url"] for each in shown["webhooks"] if each["task_id"] == task_id}


def test_settings_are_listed_in_pages(pool: ServedPool, receiver: Receiver) -> None:
    client, task_id = pool.client(), pool.client().send("hello")["id"]
    for name in ("one", "two", "three"):
        client.call("CreateTaskPushNotificationConfig", setting(client, task_id, receiver.url, name))
    method, names, token = "ListTaskPushNotificationConfigs", [], ""
    for size in (2, 1):
        page = client.call(method, {"taskId": task_id, "pageSize": 2, "pageToken": token})
        assert len(page["configs"]) == size
        names += [each["id"] for each in page["configs"]]
        token = page["nextPageToken"]
    assert (names, token) == (["one", "two", "three"], "")
    assert client.error(method, {"taskId": task_id, "pageToken": "zzz"})["code"] == -32602


@pytest.mark.parametrize(
    "wrong",
    [{"url": "ftp://example.org"}, {"url": "http://a b"}, {"token": "a\r\nb"}, {"token": "x" * 2000}, {"id": "ü"}],
)
def test_settings_that_cannot_be_are_refused(client: ThinClient, receiver: Receiver, wrong: dict[str, str]) -> None:
    setter = METHODS[client.version].split()[0]
    task_id = client.send("hello")["id"]
    params = setting(client, task_id, receiver.url)
    params.get("pushNotificationConfig", params).update(wrong)
    assert client.error(setter, params)["code"] == -32602
    name = "taskPushNotificationConfig" if client.version == "1.0" else "pushNotificationConfig"
    chosen = {name: {**push(client, receiver.url), **wrong}}
    assert client.error(SEND[client.version], client.sending("hello", configuration=chosen))["code"] == -32602


def test_a_viewer_sees_no_token_and_no_path_of_push_settings(
    client: ThinClient, pool: ServedPool, receiver: Receiver
) -> None:
    task_id, viewer = client.send("hello")["id"], pool.client(client.version, token=VIEWER)
    create, get, listed, _ = METHODS[client.version].split()
    client.call(create, setting(client, task_id, f"{receiver.url}/secret-path"))
    every = {"taskId": task_id} if client.version == "1.0" else {"id": task_id}
    for method, params in ((get, named(client, task_id)), (listed, every)):
        told, seen = str(client.call(method, params)), str(viewer.call(method, params))
        assert ("a token" in told, "secret-path" in told) == (True, True)
        assert ("a token" in seen, "secret-path" in seen, seen.count("***")) == (False, False, 2)
