"""The pages of schedules: the form that sets one, its next fires, its history, and what it hides."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from holdfast.core.delivery import Settle, Settlement
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.schedule_records import fire_id, is_out_of_turn
from holdfast.core.worker_records import Introduction
from holdfast_config import RedisSettings
from holdfast_config.web_users import Role
from tests.web.site import HTML, Site, site

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script>"


class Form(HTMLParser):
    """What a browser sends of a page's form when nobody has typed anything."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._inside, self._content, self._is_chosen = "", "", False
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        match tag:
            case "input" if "name" in given:
                self.fields[given["name"]] = "".join(given.get("value", "").splitlines())
            case "textarea" | "select":
                self._inside, self._content = given["name"], ""
            case "option":
                self._content, self._is_chosen = "", "selected" in given
            case _:
                pass

    def handle_data(self, data: str) -> None:
        self._content += data if self._inside else ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":  # a line break behind the tag is none of the text
            self.fields[self._inside] = self._content.removeprefix("\n").replace("\n", "\r\n")
        elif tag == "option" and (self._is_chosen or self._inside not in self.fields):
            self.fields[self._inside] = self._content
        if tag in {"textarea", "select"}:
            self._inside = ""


RULES = "DTSTART:20270105T090000Z\nRRULE:FREQ=DAILY\nEXDATE:20270106T090000Z"
SPECS: list[dict[str, Any]] = [
    {"every": 5400, "text": "go", "expires": 300, "unique": "k", "unique_for": 0.5, "timeout": 60, "jitter": "1m"},
    {"every": "5m", "text": "two\nlines, padded  ", "expires": "10m", "timeout": "1h30m", "start": 1830000000},
    {"every": "5m", "text": "\n  first line is empty"},
    {"every": "5m", "text": " "},
    {"every": "5m", "text": ""},
    {"rrule": RULES, "data": [1, {"a": None}], "metadata": {}, "backoff": 10, "concurrency_key": "k é"},
    {"at": 1830000000.5, "name": "job", "kwargs": {}, "webhook": "https://example.com/x?token=abcdef0123456789"},
    {"cron": "0 2 * * *", "data": False, "overlap": "replace", "misfire": "all:7", "on_failure": "stop"},
    {"cron": "0 2 * * *", "text": "password=hunter2secret", "metadata": {"a": [{"password": "hunter2"}, "x"]}},
    {
        "schedule": "CONTINUE",
        "text": "go",
        "backoff": "30s",
        "limit": 3,
        "max_attempts": 2,
        "lane": "slow",
        "owner": "o",
    },
]


@pytest.mark.parametrize("spec", SPECS, ids=[str(number) for number in range(len(SPECS))])
async def test_a_form_that_is_saved_as_it_was_shown_changes_nothing(
    redis_settings: RedisSettings, spec: dict[str, Any]
) -> None:
    async with site(redis_settings) as here:
        await here.manager.schedules.upsert("j", **spec)
        before = await here.manager.schedules.get("j")
        edited = Form((await here.browser.get("/schedules/edit?id=j", headers=HTML)).text).fields
        edited.pop("csrf", None)
        answer = await here.change("/schedules/set", **edited)
        assert answer.status_code == 303, answer.text
        after = await here.manager.schedules.get("j")
        assert (after.definition.spec, after.generation) == (before.definition.spec, before.generation)


async def test_a_secret_that_was_left_hidden_in_a_text_that_was_changed_is_not_lost(
    redis_settings: RedisSettings,
) -> None:
    """Nobody can say which part of the new text it was."""
    async with site(redis_settings) as here:
        await here.manager.schedules.upsert("j", every="5m", text="password=hunter2secret now")
        edited = Form((await here.browser.get("/schedules/edit?id=j", headers=HTML)).text).fields
        edited.pop("csrf", None)
        assert "***" in edited["text"]
        edited["text"] += " and then"
        answer = await here.change("/schedules/set", **edited)
        assert (answer.status_code, "text: a changed field still contains ***" in answer.text) == (400, True)
        assert (await spec_of(here, "j"))["text"] == "password=hunter2secret now"


async def test_a_fire_is_one_row_with_its_result_and_the_list_has_the_last_one(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        rule = "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=6;BYMINUTE=0;BYSECOND=0"
        await here.manager.schedules.upsert("j", rrule=rule, name="close", timezone="Europe/Berlin")
        listed = await here.page("/schedules")
        assert "On the last day of every month at 06:00, Europe/Berlin" in listed
        assert '<small><a href="/handler?name=close">close</a></small>' in listed
        fired = await here.manager.schedules.run("j")
        assert f'<a class="state" href="/task?id={quote(fired)}" title="{fired}">open</a>' in await here.page(
            "/schedules"
        )
        await here.store.register(Introduction("w", "host", "boot", 7, 0))
        (delivery,) = (await here.store.pull("w", 1, 1, [redis_settings.queue], [])).deliveries
        end = Settlement(delivery.task_id, delivery.claim, Settle.REJECTED, reason="no customer")
        await here.store.pull("w", 2, 0, [redis_settings.queue], [end])
        shown = await here.page("/schedule?id=j")
        assert shown.count('<span class="state rejected">rejected</span>') == 1
        assert "open</span>" not in shown
        listed = await here.page("/schedules")
        assert f'<a class="state rejected" href="/task?id={quote(fired)}"' in listed
        assert (">by hand</td>" in shown, ">by hand</small>" in listed) == (True, True)


async def test_a_run_at_a_moment_of_the_rule_is_not_by_hand(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.schedules.upsert("j", every="1s", name="close")
        record = await here.manager.schedules.get("j")
        assert record.expected
        planned = fire_id("j", record.expected)
        assert not is_out_of_turn(record, planned)
        assert is_out_of_turn(record, fire_id("j", record.expected + 1))
        assert not is_out_of_turn(replace(record, updated=record.expected + 2), fire_id("j", record.expected + 1))
        assert not is_out_of_turn(record, "report-7")


SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"region": {"type": "string", "enum": ["eu", "asia"]}, "copies": {"type": "integer"}},
    "required": ["region"],
    "additionalProperties": False,
}


async def test_the_form_has_a_field_for_each_argument_of_the_handler(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.store.publish_handlers([PublishedHandler("bill", SCHEMA)])
        empty = await here.page("/schedules/new?name=bill")
        assert '<select name="arg.region"' in empty
        assert 'name="arguments"' not in empty
        form = {"schedule_id": "j", "way": "every", "rule": "5m", "name": "bill"}
        for typed, why in (({"arg.region": ""}, "region: is missing"), ({"arg.copies": "many"}, "region: is missing")):
            answer = await here.change("/schedules/set", **form, **typed)
            assert (answer.status_code, why in answer.text) == (400, True), answer.text
        answer = await here.change("/schedules/set", **form, **{"arg.region": "eu", "arg.copies": "many"})
        assert (answer.status_code, 'value="many"' in answer.text) == (400, True)
        answer = await here.change("/schedules/set", **form, **{"arg.region": "eu", "arg.copies": "3"})
        assert answer.status_code == 303, answer.text
        assert (await spec_of(here, "j"))["kwargs"] == {"region": "eu", "copies": 3}
        edited = await here.page("/schedules/edit?id=j")
        assert ("<option selected>eu</option>" in edited, 'name="arg.copies" value="3"' in edited) == (True, True)


async def test_a_usual_rule_replaces_the_typed_one(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        typed = {"way": "every", "rule": "7m", "preset": "Weekdays at 09:00", "name": "bill"}
        shown = (await here.change("/schedules/fires", **typed)).text
        fields = Form(shown).fields
        assert (fields["way"], fields["rule"], fields["name"]) == ("cron", "0 9 * * 1-5", "bill")
        assert shown.count(' aria-pressed="true"') == 1


async def spec_of(here: Site, schedule_id: str) -> Any:
    return msgspec.json.decode((await here.manager.schedules.get(schedule_id)).definition.spec)


async def test_a_schedule_is_made_by_the_form_and_shows_its_next_fires(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        assert 'action="/schedules/set"' in await here.page("/schedules/new")
        answer = await here.change(
            "/schedules/set",
            schedule_id="nightly",
            way="cron",
            rule="0 2 * * *",
            timezone="Europe/Berlin",
            name="billing.close_day",
            arguments='{"region": "eu"}',
            overlap="queue-one",
            misfire="all:3",
            max_attempts="2",
            timeout="5m",
            backoff="10s",
            expires="10m",
            unique="close",
            unique_for="1h",
            concurrency_key="billing",
            webhook="https://example.com/told",
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/schedule?id=nightly")
        assert await spec_of(here, "nightly") == {
            "cron": "0 2 * * *",
            "timezone": "Europe/Berlin",
            "name": "billing.close_day",
            "kwargs": {"region": "eu"},
            "overlap": "queue-one",
            "misfire": "all:3",
            "max_attempts": 2,
            "timeout": "5m",
            "backoff": "10s",
            "expires": "10m",
            "unique": "close",
            "unique_for": "1h",
            "concurrency_key": "billing",
            "webhook": "https://example.com/told",
        }
        shown = await here.page("/schedule?id=nightly")
        assert shown.count("02:00:00 CE") == 5, "the next fires in its zone"
        edited = await here.page("/schedules/edit?id=nightly")
        for text in (
            "0 2 * * *</textarea>",
            'value="Europe/Berlin"',
            '<option value="queue-one" selected>',
            'value="all:3"',
            'value="billing"',
        ):
            assert text in edited


async def test_an_edit_keeps_what_the_form_did_not_change_and_a_new_one_overwrites_none(
    redis_settings: RedisSettings,
) -> None:
    async with site(redis_settings) as here:
        await here.manager.schedules.upsert(
            "sweep", every="5m", name="sweep", kwargs={"password": "hunter2", "deep": True}, metadata={"team": "a"}
        )
        edited = (await here.browser.get("/schedules/edit?id=sweep", headers=HTML)).text
        assert "hunter2" not in edited
        assert "hunter2" not in await here.page("/schedule?id=sweep")
        arguments = '{\r\n  "password": "***",\r\n  "deep": false\r\n}'  # as a browser sends the lines of the field
        form = {"schedule_id": "sweep", "way": "every", "name": "sweep", "arguments": arguments}
        form |= {"metadata": '{"team": "b"}'}
        assert (await here.change("/schedules/set", **form, rule="10m")).status_code == 400, "it exists"
        assert (await here.change("/schedules/set", **form, rule="10m", known="1")).status_code == 303
        spec = await spec_of(here, "sweep")
        assert (spec["every"], spec["kwargs"], spec["metadata"]) == (
            "10m",
            {"password": "hunter2", "deep": False},
            {"team": "b"},
        )
        await here.manager.schedules.remove("sweep")
        kept = form | {"rule": "15m", "known": "1", "arguments": "{}"}
        assert (await here.change("/schedules/set", **kept)).status_code == 303, "removed while the form was open"
        assert (await spec_of(here, "sweep"))["every"] == "15m"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"rule": "every day"}, "every day"),
        ({"rule": SCRIPT}, "script"),
        ({"way": "whenever"}, "one of cron"),
        ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
        ({"arguments": "{not json"}, "not JSON"),
        ({"limit": "many"}, "limit"),
        ({"misfire": "some"}, "misfire"),
        ({"schedule_id": "\x00"}, "schedule id"),
        ({"name": ""}, "text"),
    ],
    ids=["no cron", "a script", "no kind", "no zone", "no JSON", "no limit", "no misfire", "no id", "no task"],
)
async def test_a_rule_that_is_not_one_gives_the_form_again_with_what_was_typed(
    redis_settings: RedisSettings, fields: dict[str, str], says: str
) -> None:
    async with site(redis_settings) as here:
        form = {"schedule_id": "x", "way": "cron", "rule": "0 2 * * *", "timezone": "UTC", "name": "job"} | fields
        answer = await here.change("/schedules/set", **form)
        assert (answer.status_code, 'class="problem"' in answer.text) == (400, True), answer.text
        assert SCRIPT not in answer.text
        assert says in answer.text.split('class="problem"')[1].split("</p>")[0]
        assert 'action="/schedules/set"' in answer.text
        assert not (await here.manager.schedules.list()).schedules


async def test_a_pause_has_a_reason_and_an_end(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.schedules.upsert("nightly", cron="0 2 * * *", text="x")
        await here.change("/schedules/pause", schedule_id="nightly", reason="year end", until="2100-01-04T08:00")
        record = await here.manager.schedules.get("nightly")
        assert record.paused == "year end (paused by token on the web, from 192.0.2.7)"
        assert record.until == round(datetime(2100, 1, 4, 8, tzinfo=UTC).timestamp() * 1000)
        assert (await here.change("/schedules/pause", schedule_id="nightly", until="soon")).status_code == 400
        assert "year end" in await here.page("/schedules")


async def test_the_form_tells_the_next_fires_of_what_is_typed_and_writes_nothing(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        typed = {"way": "cron", "rule": "0 2 * * *", "timezone": "Europe/Berlin", "schedule_id": "n", "name": "a.b"}
        shown = unescape((await here.change("/schedules/fires", **typed)).text)
        assert "At 02:00 every day" in shown
        assert shown.count("02:00:00 CE") == 5
        assert 'value="a.b"' in shown, "the form keeps what was typed"
        wrong = await here.change("/schedules/fires", way="cron", rule="61 2 * * *")
        assert (wrong.status_code, "61" in wrong.text.split('id="fires"', 1)[1]) == (200, True)
        assert (
            "or type one: its next fires stand here"
            in (await here.change("/schedules/fires", way="cron", rule="")).text
        )
        assert SCRIPT not in (await here.change("/schedules/fires", way="cron", rule=SCRIPT)).text
        assert not (await here.manager.schedules.list(10)).schedules
        assert await here.store.activity_before("", 10) == ()
        assert (await here.browser.post("/schedules/fires", data=typed, headers=HTML)).status_code == 403, "no secret"


async def test_a_viewer_has_no_form(redis_settings: RedisSettings) -> None:
    async with site(redis_settings, Role.VIEWER) as here:
        assert (await here.change("/schedules/fires", way="cron", rule="0 2 * * *")).status_code == 403
