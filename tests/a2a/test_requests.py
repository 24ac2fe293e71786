"""Requests that cannot be answered, clients that may not ask, and the card, which needs no login."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import pytest

from tests.a2a.conftest import ServedPool
from tests.a2a.thin_client import TOKEN, ThinClient

LOGIN = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
CARD = "/.well-known/agent-card.json"
FORMS = ("1.0", "0.3", "")


def _post(pool: ServedPool, body: bytes, **headers: str) -> httpx.Response:
    return pool.http.post(f"{pool.base}/a2a", content=body, headers=LOGIN | {"a2a-version": "1.0"} | headers)


def _request(method: object = "GetTask", params: object = None, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params, **fields}).encode()


@pytest.mark.parametrize(
    ("body", "code", "call_id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"[" + _request() + b"]", -32600, None),
        (b"7", -32600, None),
        (b"null", -32600, None),
        (_request(jsonrpc="1.0"), -32600, 7),
        (_request(id={}), -32600, None),
        (_request(id=True), -32600, None),
        (_request(method=""), -32600, 7),
        (_request(method=7), -32600, 7),
        (_request(method="Tasks/Get"), -32601, 7),
        (_request(method="<script>"), -32601, 7),
        (_request(params=None), -32602, 7),
        (_request(params=[]), -32602, 7),
        (_request(params={"id": 7}), -32602, 7),
        (_request(params={"id": ""}), -32602, 7),
        (_request(params={"id": "none", "historyLength": -1}), -32602, 7),
        (_request(params={"id": "none"}), -32001, 7),
        (_request(params={"id": "\u0000"}), -32001, 7),
        (_request("ListTasks", {"pageSize": 0}), -32602, 7),
        (_request("ListTasks", {"pageSize": 101}), -32602, 7),
        (_request("ListTasks", {"status": "lost"}), -32602, 7),
        (_request("ListTasks", {"pageToken": "zzz"}), -32602, 7),
        (_request("ListTasks", {"contextId": "c", "pageToken": "-1"}), -32602, 7),
        (_request("ListTasks", {"statusTimestampAfter": "soon"}), -32602, 7),
        (_request("ListTasks", {"statusTimestampAfter": "2026-01-01T00:00:00"}), -32602, 7),
        (_request("ListTasks", {"statusTimestampAfter": "2026-01-01T00:00:00Z", "pageToken": "zzz"}), -32602, 7),
        (_request("ListTaskPushNotificationConfigs", {"taskId": "none", "pageSize": -1}), -32602, 7),
    ],
)
def test_a_request_that_cannot_be_is_an_error(pool: ServedPool, body: bytes, code: int, call_id: int | None) -> None:
    answer = _post(pool, body)
    document = answer.json()
    assert (answer.status_code, document["jsonrpc"], document["id"]) == (200, "2.0", call_id)
    assert document["error"]["code"] == code, document
    assert "result" not in document


def test_the_error_of_a_page_token_says_what_is_expected(pool: ServedPool) -> None:
    """It reads as no secret that is to be hidden."""
    for params in ({"pageToken": "zzz"}, {"contextId": "c", "pageToken": "-1"}):
        error = _post(pool, _request("ListTasks", params)).json()["error"]
        assert error["message"] == "give the nextPageToken of the previous page as pageToken"


USER = {"messageId": "m", "role": "ROLE_USER"}


@pytest.mark.parametrize(
    "message",
    [
        None,
        {},
        {**USER, "parts": []},
        {**USER, "parts": [{}]},
        {**USER, "parts": [{"text": "a", "data": 1}]},
        {**USER, "parts": [{"text": 7}]},
        {**USER, "parts": [{"text": "a"}], "role": "user"},
        {**USER, "parts": [{"text": "a"}], "role": "ROLE_AGENT"},
        {**USER, "parts": [{"text": "a"}], "messageId": ""},
        {**USER, "parts": [{"text": "a"}], "messageId": "m" * 2000},
        {**USER, "parts": [{"text": "a"}], "contextId": "c" * 2000},
        {**USER, "parts": [{"data": 10**40}]},
        {**USER, "parts": [{"raw": "no base64!"}]},
        {**USER, "parts": [{"raw": "aGk=="}]},
        {**USER, "parts": [{"raw": "a"}]},
        {**USER, "parts": [{"raw": "ü"}]},
        {**USER, "parts": [{"raw": "aGk=", "url": "https://example.org"}]},
        {**USER, "parts": [{"text": None}]},
        {**USER, "parts": None},
        {**USER, "parts": [{"text": "a"}], "role": None},
        {**USER, "parts": [{"text": "a"}], "referenceTaskIds": ["a b"]},
    ],
)
def test_a_message_that_cannot_be_makes_no_task(pool: ServedPool, message: object) -> None:
    before = pool.client().call("ListTasks")["totalSize"]
    error = pool.client().error("SendMessage", {"message": message})
    assert error["code"] == -32602, error
    assert pool.client().call("ListTasks")["totalSize"] == before


def test_a_message_for_another_context_or_an_unknown_task_is_refused(client: ThinClient) -> None:
    asked = client.send("ask what?")
    method = "SendMessage" if client.version == "1.0" else "message/send"
    wrong = client.sending("this", taskId=asked["id"], contextId="another")
    assert client.error(method, wrong)["code"] == -32602
    assert client.error(method, client.sending("this", taskId="none"))["code"] == -32001
    client.call("CancelTask" if client.version == "1.0" else "tasks/cancel", {"id": asked["id"]})


@pytest.mark.parametrize(
    ("version", "method", "code"),
    [
        ("1.0", "GetTask", -32001),
        ("1.0.3", "GetTask", -32001),
        ("", "GetTask", -32601),
        ("", "tasks/get", -32001),
        ("0.3", "tasks/get", -32001),
        ("0.3.0", "tasks/get", -32001),
        ("0.3", "GetTask", -32601),
        ("1.0", "tasks/get", -32601),
        ("2.0", "GetTask", -32009),
        ("<script>", "GetTask", -32009),
    ],
)
def test_a_version_has_its_own_methods(pool: ServedPool, version: str, method: str, code: int) -> None:
    answer = _post(pool, _request(method, {"id": "none"}), **{"a2a-version": version})
    assert answer.json()["error"]["code"] == code


def test_a_client_that_names_no_version_speaks_0_3_and_is_told_which_has_the_method(pool: ServedPool) -> None:
    """A2A 1.0, 3.6.2: agents must interpret an empty value as 0.3."""
    message = {"messageId": "without", "role": "user", "parts": [{"kind": "text", "text": "hello"}], "kind": "message"}
    for query, headers in (("", {}), ("?A2A-Version=", {}), ("", {"a2a-version": ""})):
        login = LOGIN | headers
        older = pool.http.post(
            f"{pool.base}/a2a{query}", content=_request("message/send", {"message": message}), headers=login
        )
        assert older.json()["result"]["status"]["state"] == "completed"
        newer = pool.http.post(f"{pool.base}/a2a{query}", content=_request("SendMessage"), headers=login).json()[
            "error"
        ]
        assert (newer["code"], "send A2A-Version: 1.0" in newer["message"]) == (-32601, True)
        assert (
            pool.http.post(f"{pool.base}/a2a{query}", content=_request("SendMessage"), headers=login).status_code == 400
        )
    asked = pool.http.post(
        f"{pool.base}/a2a?A2A-Version=1.0", content=_request("GetTask", {"id": "none"}), headers=LOGIN
    )
    assert asked.json()["error"]["code"] == -32001


def test_the_address_with_a_slash_is_the_same(pool: ServedPool, client: ThinClient) -> None:
    slashed = ThinClient(pool.base, pool.http, client.version, path="/a2a/")
    task = slashed.send("hello")
    assert client.get(task["id"]) == slashed.get(task["id"]) == task
    assert pool.http.get(f"{pool.base}/a2a/", headers=LOGIN).status_code == 405
    assert pool.http.post(f"{pool.base}/a2a/").status_code == 401


@pytest.mark.parametrize("encoded", ["no base64!", "aGk==", "a", "ü", "aG k="])
def test_a_file_of_0_3_that_is_no_base64_is_refused(pool: ServedPool, encoded: str) -> None:
    older = pool.client("0.3")
    error = older.error("message/send", older.sending(parts=[{"kind": "file", "file": {"bytes": encoded}}]))
    assert (error["code"], "base64" in error["message"]) == (-32602, True)


def test_a_body_over_the_bound_is_refused(pool: ServedPool) -> None:
    answer = _post(pool, _request(params={"id": "x" * (2 << 20)}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, -32600)
    large = pool.client().error("SendMessage", pool.client().sending("x" * (1 << 20)))
    assert (large["code"], "at most" in large["message"]) == (-32602, True)


def test_another_kind_of_content_is_refused(pool: ServedPool) -> None:
    answer = _post(pool, _request(), **{"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, -32005)


def test_only_a_program_that_has_logged_in_is_answered(pool: ServedPool) -> None:
    request = {"content": _request(), "headers": {"content-type": "application/json"}}
    answer = pool.http.post(f"{pool.base}/a2a", **request)  # type: ignore[arg-type]
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert _post(pool, _request(), authorization="Bearer wrong").status_code == 401
    with httpx.Client(timeout=60) as browser:
        assert browser.post(f"{pool.base}/login", data={"token": TOKEN}).status_code == 303
        assert browser.post(f"{pool.base}/a2a", **request).status_code == 403  # type: ignore[arg-type]
    assert pool.http.get(f"{pool.base}/a2a", headers=LOGIN).status_code == 405


def test_the_card_alone_is_public_and_names_both_versions(pool: ServedPool) -> None:
    answer = pool.http.get(pool.base + CARD)
    card = answer.json()
    assert [(one["url"], one["protocolVersion"]) for one in card["supportedInterfaces"]] == [
        (f"{pool.base}/a2a", "1.0"),
        (f"{pool.base}/a2a", "0.3"),
    ]
    assert (card["url"], card["protocolVersion"], card["name"]) == (f"{pool.base}/a2a", "0.3.0", "Holdfast")
    assert TOKEN not in answer.text
    for skill in card["skills"]:
        assert skill.keys() == {"id", "name", "description", "tags"}
        assert (skill["name"], skill["tags"]) == (skill["id"], ["handler"])
        assert skill["description"]
    assert pool.http.get(f"{pool.base}/.well-known/agent.json").json() == card
    again = pool.http.get(pool.base + CARD, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.headers["last-modified"]) == (304, answer.headers["last-modified"])
    assert parsedate_to_datetime(answer.headers["last-modified"]) <= datetime.now(UTC)
    for path in ("/.well-known/", "/.well-known/other", "/a2a"):
        assert pool.http.get(pool.base + path).status_code == 401


def test_a_card_that_is_asked_for_in_a_version_has_the_form_of_that_version(pool: ServedPool) -> None:
    newer, older, both = (pool.http.get(pool.base + CARD, headers={"a2a-version": each}).json() for each in FORMS)
    assert newer["securitySchemes"] == {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    assert newer["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]
    assert newer["capabilities"] == {"streaming": True, "pushNotifications": True, "extendedAgentCard": True}
    assert not {"url", "protocolVersion", "preferredTransport", "additionalInterfaces", "security"} & newer.keys()
    assert older["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}
    assert (older["security"], older["supportsAuthenticatedExtendedCard"]) == ([{"bearer": []}], True)
    assert not {"supportedInterfaces", "securityRequirements"} & older.keys()
    assert both.keys() == newer.keys() | older.keys()


def test_the_extended_card_has_the_arguments_of_handlers_for_who_has_logged_in(client: ThinClient) -> None:
    public = client.http.get(client.base + CARD, headers={"a2a-version": client.version}).json()
    assert "extensions" not in public["capabilities"]
    method = "GetExtendedAgentCard" if client.version == "1.0" else "agent/getAuthenticatedExtendedCard"
    card = client.call(method)
    (extension,) = card["capabilities"].pop("extensions")
    assert card == public
    assert list(extension["params"]["add"]["properties"]) == ["one", "other"]
    assert extension["params"]["pay"]["properties"]["password"]["default"] == "***"
    refused = client.http.post(f"{client.base}/a2a", json={"jsonrpc": "2.0", "id": 1, "method": method})
    assert refused.status_code == 401
    at = f"{client.base}/a2a/v1/card"
    assert (client.http.get(at).status_code, "www-authenticate" in client.http.get(at).headers) == (401, True)
    older = ThinClient(client.base, client.http, "0.3")
    assert client.http.get(at, headers=LOGIN).json() == older.call("agent/getAuthenticatedExtendedCard")


def test_what_was_sent_and_canceled_and_refused_is_written_down(pool: ServedPool) -> None:
    client = pool.client()
    task = client.send("ask what?")
    client.call("CancelTask", {"id": task["id"]})
    client.error("CancelTask", {"id": task["id"]})
    shown = pool.http.get(f"{pool.base}/activity", headers=LOGIN | {"accept": "text/html"}).text
    assert shown.count(task["id"]) >= 3
    assert "tasks/submit" in shown
    assert "cannot be canceled" in shown
