"""Messages become tasks, and tasks are read, continued, canceled and listed, in the words of both versions."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.a2a.conftest import ServedPool
from tests.a2a.thin_client import VIEWER, ThinClient, plain, text_of

CANCEL = {"1.0": "CancelTask", "0.3": "tasks/cancel"}


def test_a_message_is_a_task_and_its_result_an_artifact(client: ThinClient) -> None:
    task = client.send("hello")
    assert (task["status"]["state"], text_of(task)) == ("completed", "You said hello")
    assert [message["parts"][0]["text"] for message in task["history"]] == ["hello"]
    assert client.get(task["id"]) == task


def test_a_viewer_sees_no_secrets_and_who_may_send_gets_values_as_they_are(
    client: ThinClient, pool: ServedPool
) -> None:
    secret = f"password=hunter2-{client.version}"
    task = client.send(f"ask {secret}", metadata={"api_key": secret})
    viewer = pool.client(client.version, token=VIEWER)
    subscribe = "SubscribeToTask" if client.version == "1.0" else "tasks/resubscribe"
    with viewer.stream(subscribe, {"id": task["id"]}) as events:
        begun = next(events)
    seen = [viewer.get(task["id"]), begun, *(viewer.call("ListTasks")["tasks"] if client.version == "1.0" else ())]
    assert task == client.get(task["id"])
    assert ("hunter2" in str(seen), str(seen[0]).count("***")) == (False, str(task).count("hunter2"))
    done = client.send(f"parts {secret}")
    assert ("hunter2" in str(done["artifacts"]), "hunter2" in str(viewer.get(done["id"]))) == (True, False)


def test_a_viewer_sees_the_tokens_of_a_stream_and_no_secrets(client: ThinClient, pool: ServedPool) -> None:
    task, viewer = client.send("tokens otters hold"), pool.client(client.version, token=VIEWER)
    seen = [
        viewer.get(task["id"]),
        *(viewer.call("ListTasks", {"includeArtifacts": True})["tasks"] if client.version == "1.0" else ()),
    ]
    for each in seen:
        if each["id"] == task["id"]:
            assert ("otters" in str(each["artifacts"]), "hunter2" in str(each)) == (True, False)
    hidden = client.send('value {"token": "hunter2"}')
    assert "hunter2" not in str(viewer.get(hidden["id"])["artifacts"]), "a result is no part of a stream"


def test_a_viewer_sees_no_secrets_in_the_ids_that_clients_choose(client: ThinClient, pool: ServedPool) -> None:
    named = f"customer {client.version} api_key=hunter2"
    task = client.send("ask day?", message_id=f"{named} 1", contextId=named)
    viewer = pool.client(client.version, token=VIEWER)
    subscribe = "SubscribeToTask" if client.version == "1.0" else "tasks/resubscribe"
    with viewer.stream(subscribe, {"id": task["id"]}) as events:
        told = [next(events)]
        client.send("Friday", message_id=f"{named} 2", taskId=task["id"], contextId=named)
        told += events
    if client.version == "1.0":
        told += viewer.call("ListTasks", {"historyLength": 9})["tasks"]
    seen = str([viewer.get(task["id"]), *told])
    assert (client.get(task["id"])["contextId"], "hunter2" in seen) == (named, False)
    assert f"'contextId': 'customer {client.version} api_key=***'" in seen


def test_the_same_message_twice_is_one_task(client: ThinClient) -> None:
    one, again, other = (client.send("hello", message_id=name) for name in ("m-1", "m-1", "m-2"))
    assert one["id"] == again["id"] != other["id"]


def test_a_task_belongs_to_the_trace_of_its_request(client: ThinClient) -> None:
    client.traceparent = f"00-{'a1' * 16}-{'b2' * 8}-01"
    task = client.send("trace", message_id=f"traced-{client.version}")
    assert text_of(task) == f"{'a1' * 16} {'b2' * 8}"
    client.traceparent = f"00-{'c3' * 16}-{'d4' * 8}-01"
    assert client.send("trace", message_id=f"traced-{client.version}") == task, "the same message, sent again"


@pytest.mark.parametrize(
    "wrong", [f"00-{'0' * 32}-{'b2' * 8}-01", f"ff-{'a1' * 16}-{'b2' * 8}-01", f"00-{'a1' * 16}-{'b2' * 8}-01-x", "x"]
)
def test_a_trace_that_cannot_be_is_passed_over(pool: ServedPool, wrong: str) -> None:
    assert text_of(pool.client(traceparent=wrong).send("trace")) == "None None"


def test_an_id_of_any_form_comes_back(client: ThinClient) -> None:
    for name in ("message/1 of 2", "m" * 200):
        assert [message["messageId"] for message in client.send("hello", message_id=name)["history"]] == [name]


def test_the_same_id_with_other_content_is_refused(client: ThinClient) -> None:
    name = str(uuid4())
    client.send("hello", message_id=name)
    method = "SendMessage" if client.version == "1.0" else "message/send"
    error = client.error(method, client.sending("another", message_id=name))
    assert (error["code"], "sent before" in error["message"]) == (-32602, True)


@pytest.mark.parametrize(("verb", "state"), [("ask", "input-required"), ("login", "auth-required")])
def test_a_question_is_answered_by_a_message_to_its_task(client: ThinClient, verb: str, state: str) -> None:
    asked = client.send(f"{verb} which day?")
    assert asked["status"]["state"] == state
    assert asked["status"]["message"]["parts"][0]["text"] == "which day?"
    done = client.send("Friday", taskId=asked["id"], contextId=asked["contextId"])
    assert (done["id"], done["contextId"], done["status"]["state"]) == (asked["id"], asked["contextId"], "completed")
    assert text_of(done).endswith(": Friday")
    said = [(message["role"].lower()[-4:], message["parts"][0]["text"]) for message in done["history"]]
    assert [text for _, text in said] == [f"{verb} which day?", "which day?", "Friday"]


def test_a_handler_of_many_turns_gets_all_messages(client: ThinClient) -> None:
    task = client.send("turn")
    task = client.send("turn", taskId=task["id"])
    assert task["status"]["message"]["parts"][0]["text"] == "3 messages, more?"
    assert text_of(client.send("bye", taskId=task["id"])) == "You said bye"


def test_data_files_and_metadata_reach_the_handler_and_come_back(pool: ServedPool) -> None:
    newer, older = pool.client("1.0"), pool.client("0.3")
    parts = [{"text": "parts"}, {"data": {"a": [1]}}, {"raw": "aGk=", "filename": "hi.txt", "mediaType": "text/plain"}]
    task = newer.send("", parts=parts, metadata={"from": "test"})
    assert task["history"][0]["parts"] == parts
    assert task["history"][0]["metadata"] == {"from": "test"}
    file = {"bytes": "aGk=", "name": "hi.txt", "mimeType": "text/plain"}
    assert task["artifacts"][0]["parts"] == parts
    assert older.get(task["id"])["artifacts"][0]["parts"][1:] == [
        {"kind": "data", "data": {"a": [1]}},
        {"kind": "file", "file": file},
    ]
    assert older.get(task["id"])["history"][0]["parts"][2] == {"kind": "file", "file": file}


def test_a_data_part_calls_a_registered_handler(client: ThinClient) -> None:
    data = {"name": "add", "kwargs": {"one": 1, "other": 2}}
    part = {"data": data} if client.version == "1.0" else {"kind": "data", "data": data}
    assert client.send("", parts=[part])["artifacts"][0]["parts"][0]["data"] == {"sum": 3}


FILES = [  # of a handler, in 1.0, in 0.3
    (
        {"bytes": "aGk=", "name": "hi.txt", "mime_type": "text/plain"},
        {"raw": "aGk=", "filename": "hi.txt", "mediaType": "text/plain"},
        {"bytes": "aGk=", "name": "hi.txt", "mimeType": "text/plain"},
    ),
    ({"uri": "https://example.org/a"}, {"url": "https://example.org/a"}, {"uri": "https://example.org/a"}),
    ({"bytes": "_-8", "uri": None}, {"raw": "/+8="}, {"bytes": "/+8="}),
    ({"bytes": ""}, {"raw": ""}, {"bytes": ""}),
]


@pytest.mark.parametrize(("file", "newer", "older"), FILES)
def test_a_handler_answers_with_files(pool: ServedPool, file: Any, newer: Any, older: Any) -> None:
    """Alone, and beside other parts; the producer gets the value as it was returned."""
    part, text = {"kind": "file", "file": file}, {"kind": "text", "text": "with it"}
    for value, count in ((part, 1), ([part], 1), ([text, part, {"kind": "data", "data": None}], 3)):
        task = pool.client().send(f"value {json.dumps(value)}")
        parts = task["artifacts"][0]["parts"]
        assert (len(parts), newer in parts) == (count, True)
        shown = pool.client("0.3").get(task["id"])["artifacts"][0]["parts"]
        assert {"kind": "file", "file": older} in shown
        assert pool.cli("tasks", "show", task["id"], "--json").document["result"] == value


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"kind": "file"},
        {"kind": "file", "file": {}},
        {"kind": "file", "file": {"bytes": "no base64!"}},
        {"kind": "file", "file": {"bytes": "aGk=", "uri": "https://example.org"}},
        {"kind": "file", "file": {"uri": 7}},
        {"kind": "text", "text": 7},
        [{"kind": "text", "text": "a"}, 7],
        [{"kind": "text", "text": "a", "metadata": 7}],
        {"kind": "image", "file": {"uri": "https://example.org"}},
    ],
)
def test_a_value_that_is_no_part_is_data(pool: ServedPool, value: object) -> None:
    assert pool.client().send(f"value {json.dumps(value)}")["artifacts"][0]["parts"] == [{"data": value}]


def test_files_are_emitted_asked_about_and_made_of_bytes(client: ThinClient) -> None:
    url = "https://example.org/a"
    uri, at = ("url", lambda part: part) if client.version == "1.0" else ("uri", lambda part: part["file"])
    sent, said = client.send(f"send {url}")["artifacts"][0]["parts"]
    assert (at(sent)[uri], said["text"]) == (url, "and a text")
    asked = client.send(f"asking {url}")
    assert at(asked["status"]["message"]["parts"][1])[uri] == url
    assert at(client.get(asked["id"])["history"][-1]["parts"][1])[uri] == url
    raw = at(client.send("raw hi")["artifacts"][0]["parts"][0])
    assert raw["raw" if client.version == "1.0" else "bytes"] == "aGk="


def test_base_64_of_urls_and_without_padding_reaches_the_handler_as_all_readers_know_it(client: ThinClient) -> None:
    raw = {"raw": "_-8"} if client.version == "1.0" else {"kind": "file", "file": {"bytes": "_-8"}}
    text = {"text": "parts"} if client.version == "1.0" else {"kind": "text", "text": "parts"}
    parts = client.send("", parts=[text, raw])["artifacts"][0]["parts"]
    assert "/+8=" in str(parts[1])


def test_a_field_that_is_null_is_not_given(client: ThinClient) -> None:
    """ProtoJSON: null is an accepted value of each field. Of data and metadata it is a value of the client's."""
    text = {"kind": "text", "text": "parts"}
    data = {"kind": "data", "data": {"a": None}, "text": None, "metadata": {"b": None}}
    if client.version == "1.0":
        text |= dict.fromkeys(("raw", "url", "data", "metadata", "filename", "mediaType"))
        data |= dict.fromkeys(("raw", "url", "filename", "mediaType"))
    unset = dict.fromkeys(("contextId", "taskId", "metadata", "referenceTaskIds", "extensions"))
    push = "taskPushNotificationConfig" if client.version == "1.0" else "pushNotificationConfig"
    for configuration in (
        None,
        dict.fromkeys((push, "historyLength", "acceptedOutputModes", "blocking", "returnImmediately")),
    ):
        sending = client.sending(parts=[text, data], **unset) | {"configuration": configuration, "metadata": None}
        sent = client.call("SendMessage" if client.version == "1.0" else "message/send", sending | {"tenant": None})
        task = plain(sent.get("task", sent))
        assert task["status"]["state"] == "completed"
        assert task["artifacts"][0]["parts"][1]["data"] == {"a": None}
        assert task["history"][0]["parts"][1]["metadata"] == {"b": None}
    assert client.get(task["id"]) == plain(
        client.call("GetTask" if client.version == "1.0" else "tasks/get", {"id": task["id"], "historyLength": None})
    )


def test_fields_of_1_0_come_under_their_proto_names_too(pool: ServedPool) -> None:
    """ProtoJSON: parsers accept both lowerCamelCase and the proto field name."""
    client, context = pool.client(), str(uuid4())
    message = {"message_id": "m", "context_id": context, "role": "ROLE_USER", "parts": [{"data": {"a_b": {"c_d": 1}}}]}
    parts = [{"text": "parts"}, {"raw": "aGk=", "media_type": "text/plain"}, *message.pop("parts")]
    task = client.call("SendMessage", {"message": message | {"parts": parts}, "metadata": {"e_f": 1}})["task"]
    assert (task["contextId"], task["history"][0]["metadata"]) == (context, {"e_f": 1})
    assert task["artifacts"][0]["parts"] == [parts[0], {"raw": "aGk=", "mediaType": "text/plain"}, parts[2]]
    listed = client.call("ListTasks", {"context_id": context, "page_size": 1, "include_artifacts": True})
    assert (listed["totalSize"], listed["pageSize"], "artifacts" in listed["tasks"][0]) == (1, 1, True)


def test_a_refused_task_says_why(client: ThinClient) -> None:
    task = client.send("fail no such place")
    assert task["status"]["state"] == "rejected"
    assert task["status"]["message"]["parts"][0]["text"] == "no such place"


def test_a_client_that_does_not_wait_asks_later_and_cancels(client: ThinClient, pool: ServedPool) -> None:
    task = client.send(f"hold {pool.folder / 'never'}", wait=False)
    assert task["status"]["state"] in ("submitted", "working")
    canceled = plain(client.call(CANCEL[client.version], {"id": task["id"]}))
    assert canceled["status"]["state"] == "canceled"
    again = client.error(CANCEL[client.version], {"id": task["id"]})
    assert (again["code"], again["data"][0]["reason"]) == (-32002, "TASK_NOT_CANCELABLE")


def test_an_ended_task_takes_no_message_but_the_same_one(client: ThinClient) -> None:
    asked = client.send("ask what?")
    client.send("this", taskId=asked["id"], message_id="answer")
    assert client.send("this", taskId=asked["id"], message_id="answer")["status"]["state"] == "completed"
    method = "SendMessage" if client.version == "1.0" else "message/send"
    assert client.error(method, client.sending("that", taskId=asked["id"]))["code"] == -32004


def test_history_is_as_long_as_was_asked_for(client: ThinClient) -> None:
    asked = client.send("ask what?")
    for length, texts in ((0, []), (1, ["this"]), (2, ["what?", "this"]), (9, ["ask what?", "what?", "this"])):
        chosen = {"historyLength": length}
        task = client.send("this", taskId=asked["id"], message_id="answer", configuration=chosen)
        assert [message["parts"][0]["text"] for message in task.get("history", [])] == texts


def test_tasks_of_a_context_are_listed_the_last_changed_first(pool: ServedPool) -> None:
    client, context = pool.client(), str(uuid4())
    sent = [client.send(f"number {n}", contextId=context)["id"] for n in range(3)]
    whole = client.call("ListTasks", {"contextId": context})
    assert ([task["id"] for task in whole["tasks"]], whole["totalSize"]) == (sent[::-1], 3)
    assert "artifacts" not in whole["tasks"][0]
    first = client.call("ListTasks", {"contextId": context, "pageSize": 2, "includeArtifacts": True})
    rest = client.call("ListTasks", {"contextId": context, "pageSize": 2, "pageToken": first["nextPageToken"]})
    assert [task["id"] for task in first["tasks"] + rest["tasks"]] == sent[::-1]
    assert rest["nextPageToken"] == ""
    assert text_of(first["tasks"][0]) == "You said number 2"


def test_all_tasks_are_listed_the_last_changed_first_over_all_pages(pool: ServedPool) -> None:
    client, sent, found, token = pool.client(), list[str](), list[dict[str, Any]](), ""
    for n in range(3):
        sent += [client.send(f"ask {n}?")["id"], client.send(f"number {n}")["id"]]
    with client.stream("SendStreamingMessage", client.sending(f"hold {pool.folder / 'listed'}")) as events:
        event = next(events)
        sent.append(event["task"]["id"])
        while "holding " not in str(event):
            event = next(events)
        while token or not found:
            page = client.call("ListTasks", {"pageSize": 2, "pageToken": token})
            found += page["tasks"]
            token = page["nextPageToken"]
        client.call("CancelTask", {"id": sent[-1]})
    moments = [task["status"]["timestamp"] for task in found]
    assert moments == sorted(moments, reverse=True)
    ids = [task["id"] for task in found]
    assert [each for each in ids if each in sent] == sent[::-1]
    assert len(ids) == len(set(ids)) == page["totalSize"]


def test_tasks_that_changed_since_a_moment_are_listed_in_whole_pages(pool: ServedPool) -> None:
    """In each state, with the number of those alone, of a context and of all."""
    client, context = pool.client(), str(uuid4())
    old = [client.send(f"number {n}", contextId=context)["id"] for n in range(3)]
    answered = client.send("ask first?", contextId=context)
    last = client.send("number 3", contextId=context)
    asked = [client.send(f"ask {n}?", contextId=context) for n in range(3)]
    client.send("Friday", taskId=answered["id"])
    since = asked[0]["status"]["timestamp"]
    assert since > last["status"]["timestamp"]
    wanted = [answered["id"], *(each["id"] for each in reversed(asked))]
    for chosen in ({}, {"contextId": context}):
        found, token = list[str](), ""
        while token or not found:
            page = client.call(
                "ListTasks", {"statusTimestampAfter": since, "pageSize": 3, "pageToken": token, **chosen}
            )
            assert (len(page["tasks"]), page["totalSize"]) == (3 if not found else 1, 4)
            found += [task["id"] for task in page["tasks"]]
            token = page["nextPageToken"]
        assert found == wanted
        in_state = {"statusTimestampAfter": since, "status": "TASK_STATE_INPUT_REQUIRED", **chosen}
        assert client.call("ListTasks", in_state)["totalSize"] == 3
        none = client.call("ListTasks", {"statusTimestampAfter": "2099-01-01T00:00:00Z", "pageSize": 2, **chosen})
        assert (none["tasks"], none["totalSize"], none["nextPageToken"]) == ([], 0, "")
    assert not set(old) & set(wanted)
    for each in asked:
        client.call("CancelTask", {"id": each["id"]})


def test_tasks_of_a_state_are_listed(pool: ServedPool) -> None:
    client = pool.client()
    asked = client.send("ask listed?")["id"]
    found = client.call("ListTasks", {"status": "TASK_STATE_INPUT_REQUIRED", "historyLength": 0})
    assert asked in [task["id"] for task in found["tasks"]]
    assert all("history" not in task for task in found["tasks"])
    client.call("CancelTask", {"id": asked})
