"""Forms that submit a task of a handler, made from its signature, and those that edit a task."""

from __future__ import annotations

import json
import re
import shlex
from html import unescape
from typing import Any

import httpx
import pytest

from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.task_states import State
from holdfast_config import RedisSettings
from holdfastd.web.views.submission_form import FieldKind, argument_fields, read_arguments
from tests.web.handlers import publish, working
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"
_INPUT = re.compile(r'<input (?:type="hidden" )?name="([^"]+)" value="([^"]*)"')
_AREA = re.compile(r'<textarea name="([^"]+)"[^>]*>\n(.*?)</textarea>', re.DOTALL)
_SELECT = re.compile(r'<select name="([^"]+)"[^>]*>(.*?)</select>', re.DOTALL)


def fields_of(page: str) -> dict[str, str]:
    """Everything that the form of a page would send."""
    form = page.split('action="/tasks/submit"', 1)[1].split("</form>", 1)[0]
    found = dict(_INPUT.findall(form)) | dict(_AREA.findall(form))
    for name, options in _SELECT.findall(form):
        chosen = re.search(r"<option selected>([^<]*)<", options)
        found[name] = chosen[1] if chosen else ""
    return {name: unescape(value) for name, value in found.items()}


async def send(here: Site, page: str, **typed: str) -> httpx.Response:
    return await here.browser.post("/tasks/submit", data={**fields_of(page), **typed}, headers=HTML)


async def test_a_form_of_a_signature_submits_what_was_typed(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        await publish(redis_settings)
        form = (await here.browser.get("/submit?name=invoice")).text
        assert "Makes &lt;b&gt;invoices&lt;/b&gt;." in form
        lines = '[{"sku": "a", "count": 2}]'
        typed = {"arg.region": "eu", "arg.lines": lines, "arg.copies": "3", "arg.draft": "true", "arg.due": "1.5"}
        answer = await send(here, form, **typed)
        task_id = fields_of(form)["task_id"]
        assert (answer.status_code, answer.headers["location"]) == (303, f"/task?id={task_id}")
        record = await here.manager.wait(task_id, 60)
        expected = {"region": "eu", "lines": 1, "copies": 3, "note": "", "due": 1.5, "draft": True}
        assert (record.state, record.value) == (State.COMPLETED, expected)
        [done] = await here.store.activity_before("", 1)
        assert (done.change, done.subject, done.related, done.outcome) == ("tasks/submit", task_id, "", "")
        again = (await here.browser.get("/submit?name=invoice")).text
        assert f'href="/submit?task={task_id}">Copy</a>' in again, "the arguments of its last tasks can be copied"
        command = re.search(r"<pre[^>]*>(supervisor submit.*?)</pre>", re.sub("</?span[^>]*>", "", again))
        assert command
        *words, data = shlex.split(unescape(command[1]))
        assert words == ["supervisor", "submit", "--name", "invoice", "--data"]
        assert set(json.loads(data)) == {"region", "lines", "draft"}, "those that must be given, and a box"


async def test_a_box_to_tick_is_true_or_false_and_unchecked_arguments_go_through(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await publish(redis_settings)
        form = (await here.browser.get("/submit?name=invoice")).text
        assert re.search(r'<input type="checkbox" name="arg.draft" value="true" aria', form) or (
            '<input type="checkbox" name="arg.draft" value="true">' in form
        )
        assert fields_of(form)["arg.draft"] == "false", "a box that is not ticked says so"
        assert 'placeholder="[{&#34;sku&#34;: &#34;text&#34;, &#34;count&#34;: 1}]"' in form, "an example"
        typed = {"arg.region": "eu", "arg.lines": '[{"sku": "a", "count": 0}]', "arg.draft": "true"}
        assert (await send(here, form, **typed)).status_code == 400
        again = (await send(here, form, **typed)).text
        assert '<input type="checkbox" name="arg.draft" value="true" checked' in again
        assert (await send(here, form, **typed, unchecked="true")).status_code == 303
        [task] = (await here.manager.list_tasks()).tasks
        assert task.name == "invoice"


async def test_a_form_that_is_sent_twice_is_one_task(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        form = (await here.browser.get("/submit?name=other")).text
        for _ in range(2):
            assert (await send(here, form)).status_code == 303
        assert len((await here.manager.list_tasks()).tasks) == 1


async def test_a_form_under_the_id_of_another_task_is_refused(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        form = (await here.browser.get("/submit")).text
        assert (await send(here, form, text="one", task_id="t")).status_code == 303
        answer = await send(here, form, text="two", task_id="t")
        assert (answer.status_code, fields_of(answer.text)["text"]) == (409, "two")
        assert (await here.manager.get_task("t")).pending == 0


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"arg.region": "", "arg.lines": "[]"}, "region: is missing"),
        ({"arg.region": "mars", "arg.lines": "[]"}, "one of 'eu', 'us' is expected"),
        ({"arg.region": "eu", "arg.lines": "[{"}, "this is not JSON"),
        ({"arg.region": "eu", "arg.lines": '[{"sku": "a", "count": 0}]'}, "lines[0].count: at least 1"),
        ({"arg.region": "eu", "arg.lines": "[]", "arg.copies": "many"}, "copies: a whole number is expected"),
        ({"arg.region": "eu", "arg.lines": "[]", "arg.copies": SCRIPT}, "copies: a whole number is expected"),
        ({"arg.region": "eu", "arg.lines": "[]", "delay": "soon"}, "delay: "),
        ({"arg.region": "eu", "arg.lines": "[]", "max_attempts": "-1"}, "max_attempts: "),
        ({"arg.region": "eu", "arg.lines": "[]", "max_attempts": "0"}, "max_attempts"),
        ({"arg.region": "eu", "arg.lines": "[]", "lane": "\x00"}, "lane"),
        ({"arg.region": "eu", "arg.lines": "[]", "task_id": "not an id"}, "task_id"),
        ({"arg.region": "eu", "arg.lines": "[]", "task_id": ""}, "task_id"),
    ],
)
async def test_what_is_wrong_is_said_beside_the_typed_text_and_nothing_is_submitted(
    redis_settings: RedisSettings, typed: dict[str, str], says: str
) -> None:
    await publish(redis_settings)
    async with site(redis_settings) as here:
        form = (await here.browser.get("/submit?name=invoice")).text
        answer = await send(here, form, **typed, **{"arg.note": f"kept {SCRIPT}"})
        assert (answer.status_code, SCRIPT in answer.text) == (400, False)
        assert says in unescape(answer.text), answer.text
        again = fields_of(answer.text)
        assert again["arg.note"] == f"kept {SCRIPT}"
        assert {name: again[name] for name in typed if name != "arg.region" and "\x00" not in typed[name]} == {
            name: text for name, text in typed.items() if name != "arg.region" and "\x00" not in text
        }
        assert (await here.manager.list_tasks()).tasks == ()
        [refused] = await here.store.activity_before("", 1)
        assert refused.outcome


async def test_a_handler_without_a_signature_takes_one_json_object(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        form = (await here.browser.get("/submit?name=elsewhere")).text
        assert "no worker runs" in form
        for text in ("[]", "5", "{", '{"a": NaN}', '{"a": 1e400}'):
            answer = await send(here, form, kwargs=text)
            assert answer.status_code == 400, text
        assert (await send(here, form, kwargs='{"region": "eu"}', delay="1h", max_attempts="7")).status_code == 303
        [task] = (await here.manager.list_tasks()).tasks
        assert (task.name, task.state, task.max_attempts) == ("elsewhere", State.DELAYED, 7)


async def test_a_task_without_a_handler_is_a_text_or_data(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here, working(redis_settings):
        form = (await here.browser.get("/submit")).text
        assert (await send(here, form, text="")).status_code == 303
        await send(here, form, text="hello", task_id="t")
        assert (await here.manager.wait("t", 60)).value == "heard hello"
        answer = await send(here, form, data="{", text="kept")
        assert (answer.status_code, fields_of(answer.text)["text"]) == (400, "kept")


async def test_an_edited_task_is_a_new_one_and_both_are_linked(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await publish(redis_settings)
        kwargs = {
            "region": "eu",
            "lines": [{"sku": "a", "count": 1}],
            "note": "two\nlines",
            "copies": 3,
            "draft": False,
        }
        await here.manager.run_task(
            name="invoice", kwargs=kwargs, task_id="t", lane="slow", max_attempts=4, metadata={"who": "me"}
        )
        await here.manager.cancel_task("t")
        form = (await here.browser.get("/submit?task=t")).text
        fields = fields_of(form)
        assert (fields["arg.region"], fields["arg.copies"], fields["arg.draft"]) == ("eu", "3", "false")
        assert (fields["arg.note"], fields["lane"], fields["max_attempts"]) == ("two\nlines", "slow", "4")
        answer = await send(here, form, **{"arg.copies": "9"})
        assert answer.status_code == 303, answer.text
        new = await here.manager.get_task(fields["task_id"])
        assert (new.state, new.lane, new.name, new.max_attempts) == (State.SUBMITTED, "slow", "invoice", 4)
        assert new.task_id.startswith("t.e")
        assert new.operation
        message = json.loads(new.operation)["params"]["message"]
        assert message["parts"] == [{"kind": "data", "data": {"name": "invoice", "kwargs": {**kwargs, "copies": 9}}}]
        assert message["metadata"] == {"who": "me", "resubmitted_from": "t"}
        assert (await here.manager.get_task("t")).state is State.CANCELED
        assert 'Edited from</dt><dd><a class="id" href="/task?id=t"' in await here.page(f"/task?id={new.task_id}")
        [done] = await here.store.activity_before("", 1)
        assert (done.change, done.subject, done.related) == ("tasks/submit", new.task_id, "t")
        shown = await here.page("/activity")
        assert f'href="/task?id={new.task_id}"' in shown
        assert 'href="/task?id=t"' in shown


async def test_a_hidden_value_is_not_in_the_form_and_stays_as_it_was(redis_settings: RedisSettings) -> None:
    properties = {"token": {"type": "string"}, "password": {"type": "integer"}, "note": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["token"], "additionalProperties": False}
    async with site(redis_settings) as here:
        await here.store.publish_handlers([PublishedHandler("login", schema)])
        await here.manager.run_task(name="login", kwargs={"token": "abc-secret", "password": 4711}, task_id="t")
        for address in ("/submit?task=t", "/task?id=t"):
            raw = (await here.browser.get(address)).text
            assert "abc-secret" not in raw
            assert "4711" not in raw
        form = (await here.browser.get("/submit?task=t")).text
        answer = await send(here, form, **{"arg.note": "x"})
        assert answer.status_code == 303, answer.text
        operation = (await here.manager.get_task(fields_of(form)["task_id"])).operation
        assert operation
        [part] = json.loads(operation)["params"]["message"]["parts"]
        assert part["data"]["kwargs"] == {"token": "abc-secret", "password": 4711, "note": "x"}
        answer = await send(here, form, **{"arg.note": "***"})
        assert (answer.status_code, "write the whole new value" in answer.text) == (400, True)


async def test_a_task_that_cannot_be_edited_says_so(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert "no task none" in await here.page("/submit?task=none", 404)
        await here.manager.run_task("hello", task_id="t")
        form = (await here.browser.get("/submit?task=t")).text
        assert fields_of(form)["text"] == "hello"
        await here.manager.cancel_task("t")
        await here.manager.remove_task("t")
        answer = await send(here, form, text="typed")
        assert (answer.status_code, fields_of(answer.text)["text"]) == (404, "typed"), "what was typed is kept"


async def test_no_text_of_a_user_becomes_markup(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        choice = {"enum": [SCRIPT, "x"], "type": "string"}
        properties: dict[str, Any] = {SCRIPT: {"default": SCRIPT, "type": "string"}, "choice": choice}
        schema = {"type": "object", "properties": properties, "additionalProperties": True}
        await here.store.publish_handlers([PublishedHandler(SCRIPT, schema, summary=SCRIPT, lane=SCRIPT)])
        kwargs = {SCRIPT: SCRIPT, "choice": SCRIPT, "more": {SCRIPT: SCRIPT}}
        await here.manager.run_task(name=SCRIPT, kwargs=kwargs, task_id="t")
        addresses = ("/submit?task=t", "/handlers", "/task?id=t", f"/handler?name={SCRIPT}", f"/submit?name={SCRIPT}")
        for address in addresses:
            raw = (await here.browser.get(address)).text
            assert (SCRIPT in raw, "&lt;script&gt;" in raw) == (False, True), address
        form = (await here.browser.get("/submit?task=t")).text
        answer = await send(here, form, lane=SCRIPT, kwargs=SCRIPT, task_id=SCRIPT)
        assert (answer.status_code, SCRIPT in answer.text) == (400, False)


def test_what_is_typed_is_what_was_shown() -> None:
    """Each value of a plain type goes through a field and comes back as it was."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "whole": {"type": "integer"},
            "number": {"type": "number"},
            "flag": {"type": "boolean"},
            "day": {"type": "string", "format": "date"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "list": {"type": "array"},
            "any": {},
        },
    }
    handler = PublishedHandler("x", schema)
    texts: tuple[dict[str, Any], ...] = (
        {
            "text": " a ",
            "whole": 5,
            "number": 1.5,
            "flag": False,
            "day": "2026-01-02",
            "maybe": 3,
            "list": [1],
            "any": {},
        },
        {"text": "\n", "maybe": None, "number": -2, "any": "text", "list": []},
        {},
    )
    for kwargs in texts:
        fields = argument_fields(handler, kwargs)
        typed = {each.name: each.value for each in fields}
        read = read_arguments(handler, typed)
        assert (read.kwargs, read.problems) == (kwargs, {}), kwargs


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 5}, {"properties": {"a": 5}}, {"properties": {"a": {"enum": []}}}]
)
def test_a_schema_that_says_nothing_takes_json(schema: dict[str, Any]) -> None:
    fields = argument_fields(PublishedHandler("x", schema), {"a": [1]})
    assert {each.kind for each in fields} == {FieldKind.JSON}
