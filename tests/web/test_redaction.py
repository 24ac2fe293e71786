"""Secrets in payloads, errors and reasons are hidden wherever a page shows them."""

from __future__ import annotations

import json
import random
import re
from time import thread_time
from typing import Any
from urllib.parse import quote

import pytest
import redis.asyncio

from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings
from holdfast_config.values import REDACTED
from holdfastd.web.queue import redaction
from holdfastd.web.queue.redaction import LONGEST, TOO_DEEP, Redaction
from tests.web.site import HTML, site
from tests.web.test_bulk import ended

HIDES = Redaction.of(REDACTED)
PLANTED = "hunter2"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2 x", "password=*** x"),
        ("connect(password='hunter2 and more', user='u')", "connect(password='***', user='u')"),
        ('x {"password": "hunter2\\" more", "b": 1}', 'x {"password": "***", "b": 1}'),
        (r"{\"password\": \"hunter2\", \"q\": 1}", r"{\"password\": \"***\", \"q\": 1}"),
        ('"clientSecret":["hunter2", 1],', '"clientSecret":***,'),
        ("Authorization: Bearer hunter2 rest", "Authorization: ***"),
        ("postgres://u:hunter2@h/db", "postgres://u:***@h/db"),
        ("?access_token=hunter2&x=1", "?access_token=***&x=1"),
        ('x["X-Api-Key"] = "hunter2"', 'x["X-Api-Key"] = "***"'),
        ('{"a": {"password": {"deep": ["hunter2"]}}}', '{"a": {"password": "***"}}'),
        (' {"password": {"deep": ["hunter2"]}}', '{"password": "***"}'),
        ('x {"password": {"a": {"b": "hunter2"}}, "c": 1}', 'x {"password": ***, "c": 1}'),
        ('x password=[1, ["}]", "hunter2"]], c', "x password=***, c"),
        (r"x {\"password\": {\"a\": [\"}\", \"hunter2\"]}, \"c\": 1}", r"x {\"password\": ***, \"c\": 1}"),
        ("x password={'a': {'b': 'hunter2'", "x password=***"),
        ("{'password': b'hunter2', 'c': 1}", "{'password': b'***', 'c': 1}"),
        ("password=Decimal('hunter2'), c", "password=***, c"),
        ("password=f(1, ['hunter2']) c", "password=*** c"),
        ("password=('a', 'hunter2') c", "password=*** c"),
        ('x "password":\n "hunter2"', 'x "password":\n "***"'),
        ("x password:\xa0hunter2 c", "x password:\xa0*** c"),
        ("password%3Dhunter2", "password=***"),
        ("%7B%22password%22%3A+%22hunter2%22%7D", '{"password": "***"}'),
        ("a%252Dpassword%253Dhunter2", "a-password=***"),
        ("password=ab+cd&x=%3D", "password=***&x=%3D"),
        ("100 %25 of %41", "100 %25 of %41"),
        ("max_tokens=5, tokens: 3", "max_tokens=5, tokens: 3"),
        ("the password of nobody", "the password of nobody"),
        # Headers: a scheme and what belongs to it, cookies as a whole, to the end of their line or quote.
        ("sent Cookie: theme=dark; sessionid=hunter2", "sent Cookie: ***"),
        ("401 for Authorization: Negotiate hunter2", "401 for Authorization: ***"),
        ('Proxy-Authorization: Digest username="a", response="hunter2"\nHost: h', "Proxy-Authorization: ***\nHost: h"),
        ("Cookie: a=b;\n c=hunter2\nHost: h", "Cookie: ***\nHost: h"),
        ('curl -H "Authorization: ApiKey hunter2" -d x', 'curl -H "Authorization: ***" -d x'),
        ("{'Authorization': 'Digest a=\"hunter2\"', 'b': 1}", "{'Authorization': '***', 'b': 1}"),
        ("[(b'cookie', b'a=b; hunter2'), (b'host', b'h')]", "[(b'cookie', b'***'), (b'host', b'h')]"),
        ("Authorization=Bearer hunter2", "Authorization=***"),
        ("?authorization=hunter2&x=1", "?authorization=***&x=1"),
        # Words with marks in them.
        ("DB_PASSWORD=x;hunter2", "DB_PASSWORD=***"),
        ("x AWS_SECRET_ACCESS_KEY=a/b+hunter2==; y", "x AWS_SECRET_ACCESS_KEY=***; y"),
        ("password: aB)hunter2", "password: ***"),
        ("f(password=aB)hunter2, x)", "f(password=***, x)"),
        ("f(password=hunter2)", "f(password=***)"),
        ('password="a"hunter2', 'password="***"'),
        ("token: correct horse hunter2", "token: ***"),
        ("password:\n  - hunter2\nuser: u", "password:***\nuser: u"),
        # Connection strings, addresses, queries.
        ("Server=h;Password=hunter2;Database=d", "Server=h;Password=***;Database=d"),
        ('Server=h;Pwd="a""hunter2";Database=d', 'Server=h;Pwd="***";Database=d'),
        ("AccountName=n;AccountKey=hunter2==;Suffix=x", "AccountName=n;AccountKey=***;Suffix=x"),
        ("host=h password='a hunter2' user=u", "host=h password='***' user=u"),
        ("https://hunter2@h/x", "https://***@h/x"),
        ("https://u:hunter2@h/x?y=a@b", "https://***@h/x?y=a@b"),
        ("postgres://u:a/hunter2@h/db", "postgres://u:***@h/db"),
        ("http://h:80/a?x=a@b", "http://h:80/a?x=a@b"),
        ("user[password]=hunter2&x=1", "user[password]=***&x=1"),
        ("k?X-Amz-Signature=hunter2&x=1", "k?X-Amz-Signature=***&x=1"),
        # Documents in texts, names in keys, programs and their arguments.
        ('{"password=hunter2": 1}', '{"password=***": "***"}'),
        ('{"https://u:hunter2@h/": 1}', '{"https://***@h/": 1}'),
        ('{"a": {"password": "hunter2"}, "a": 1}', '{"a": {"password": "***"}, "a": 1}'),
        (
            r'x {"a":"{\"b\":\"{\\\"token\\\":\\\"hunter2\\\"}\"}"} y',
            r'x {"a":"{\"b\":\"{\\\"token\\\":\\\"***\\\"}\"}"} y',
        ),
        ("f(password: str | None = 'hunter2', x=1)", "f(password: ***, x=1)"),
        ("x secret = password = 'hunter2' y", "x secret = *** y"),
        ("mysql --password 'a hunter2' -h h", "mysql --password *** -h h"),
        ("['mysql', '--password', 'hunter2']", "['mysql', '--password', '***']"),
        ("<a:password x='y'>hunter2</a:password>", "<a:password x='y'>***</a:password>"),
        ("f('password=', 'x')", "f('password=', 'x')"),
        ("ALTER USER u PASSWORD 'a hunter2' x", "ALTER USER u PASSWORD '***' x"),
        ("MYSQL_PWD=hunter2 x", "MYSQL_PWD=*** x"),
        ("- name: DB_PASSWORD\n  value: hunter2\n", "- name: DB_PASSWORD\n  value: ***\n"),
        (
            'x {"name": "Cookie", "value": "a; hunter2"}, {"name": "a"}',
            'x {"name": "Cookie", "value": "***"}, {"name": "a"}',
        ),
        ("<password><![CDATA[hunter2]]></password>", "<password>***</password>"),
        (
            "x -----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY----- y",
            "x -----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY----- y",
        ),
        ("x -----BEGIN PGP PRIVATE KEY BLOCK-----\nhunter2", "x -----BEGIN PGP PRIVATE KEY BLOCK-----***"),
        ("['password', 'email']", "['password', 'email']"),
        # A pair of Python, a word of a shell, a list of YAML as its library writes it, what Python writes of cookies.
        ("data=[('user', 'u'), ('password', 'hunter2')]", "data=[('user', 'u'), ('password', '***')]"),
        ("getenv('DB_PASSWORD', 'hunter2') x", "getenv('DB_PASSWORD', '***') x"),
        ("[(b'user', b'u'), (b'password', b'a hunter2')]", "[(b'user', b'u'), (b'password', b'***')]"),
        ("f('password', 'user', 'email')", "f('password', 'user', 'email')"),
        ("DB_PASSWORD=a\\ hunter2 ./run", "DB_PASSWORD=*** ./run"),
        ("passwords:\n- hunter2\n- a hunter2\nuser: u", "passwords:***\nuser: u"),
        ("<CookieJar[<Cookie theme=hunter2 for h/>]>", "<CookieJar[<Cookie *** for h/>]>"),
        ("<Morsel: theme=hunter2; Path=/>", "<Morsel: ***>"),
    ],
)
def test_a_text_hides_what_is_named(text: str, shown: str) -> None:
    assert HIDES.text(text) == shown


BEGINNINGS = (
    "",
    "password=",
    "password={",
    'password="',
    "token: ",
    "Cookie: ",
    "a=",
    "https://a:b",
    '--token "',
    "<a ",
    '{"',
)
RUNS = (
    *(
        *"\\\"'`{}[]()<>:=,;&|%@/?#-_. \t\n\ra",
        "password=",
        "a:",
        '\\"',
        "password={",
        "://",
        "--a ",
        "<a ",
        "%3D",
        '", "',
        "\"--a\",'x'a{",
        "\"--token\",'x'a{",
        "('token','",
    ),
    *(
        "\n ",
        "://a:b/",
        "a;b=",
        "a[",
        "';",
        " -",
        "\u2028",
        "name=",
        'a "',
        '"cookie", "',
        "'cookie: ",
        '\\"cookie: a',
        "-----BEGIN PRIVATE KEY-----",
    ),
)


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_twice_as_long_a_text_takes_twice_as_long(beginning: str) -> None:
    """The time of a text of one kind of character is compared with that of one half as long, in this run."""
    for run in RUNS:
        assert any(_seconds(beginning + run * 4000) < 3 * _seconds(beginning + run * 2000) for _ in range(10)), run


def _seconds(text: str) -> float:
    """The least time of this thread of three, and a moment that hides what the clock cannot tell apart."""
    times = list[float]()
    for _ in range(3):
        begun = thread_time()
        HIDES.text(text)
        times.append(thread_time() - begun)
    return min(times) + 1e-4


@pytest.mark.parametrize("depth", [50, 99, 600, 5000])
def test_what_is_nested_deeply_hides_what_is_named_and_fails_nothing(depth: int) -> None:
    for text in (
        "[" * depth + '{"token": "hunter2"}' + "]" * depth,
        '{"a":' * depth + '{"token": "hunter2"}' + "}" * depth,
    ):
        for shown in (HIDES.text(text), HIDES.text(f"x {text}"), HIDES.text(text[:-1])):
            assert ("hunter2" in shown, "***" in shown) == (False, True)
    value: Any = {"token": "hunter2", "n": 1}
    for _ in range(depth):
        value = [value]
    shown = str(HIDES.value(value))
    assert ("hunter2" in shown, "'n': 1" in shown, TOO_DEEP in shown) == (False, depth < 100, depth > 100)
    schema: Any = {"properties": {"token": {"default": "hunter2"}}}
    for _ in range(depth):
        schema = {"items": schema}
    assert "hunter2" not in str(HIDES.schema(schema))


def test_texts_in_texts_are_looked_through() -> None:
    text = '{"token": "hunter2"}'
    for _ in range(8):
        text = json.dumps({"a": text})
        for spelled in (text, f"x {text}", quote(text), quote(quote(text))):
            assert "hunter2" not in HIDES.text(spelled)


def test_of_a_long_text_the_beginning_is_shown_and_the_rest_is_counted() -> None:
    text = "password=hunter2 " + "x" * LONGEST
    assert HIDES.text(text) == f"password=*** {'x' * (LONGEST - 17)}… (17 characters more)"
    assert HIDES.restored(HIDES.text(text), text) == text


def test_pairs_in_documents_are_hidden_by_their_names() -> None:
    assert HIDES.value([["authorization", "Basic x"], ["host", "h"]]) == [["authorization", "***"], ["host", "h"]]
    assert HIDES.value([["x", 1], ["password", "hunter2"]]) == [["x", 1], ["password", "***"]]
    assert HIDES.value([["x", {"token": "hunter2"}]]) == [["x", {"token": "***"}]]
    assert HIDES.value([["x", None], ["password=hunter2", [1]]]) == [["x", None], ["password=***", "***"]]
    deep: Any = "password=hunter2"
    for _ in range(300):
        deep = [["x", deep]]
    assert "hunter2" not in str(HIDES.value(deep))
    assert HIDES.value({"Key": "db_password", "Value": "hunter2"}) == {"Key": "db_password", "Value": "***"}
    assert HIDES.value({"name": "Cookie", "value": "a=b"}) == {"name": "Cookie", "value": "***"}
    assert HIDES.value(["mysql", "--password", "x", "-h"]) == ["mysql", "--password", "***", "-h"]
    assert HIDES.value(["password", "email"]) == ["password", "email"]
    assert list(HIDES.value({"a token=1": 1, "a token=2": 2})) == ["a token=***", "a token=*** (2)"]


def test_a_document_hides_fields_by_name_and_keeps_the_rest() -> None:
    document = {"API-Key": 1, "n": None, "list": [{"db_password": {"a": 1}}], "max_tokens": 3, "token": None}
    assert HIDES.value(document) == {
        "API-Key": "***",
        "n": None,
        "list": [{"db_password": "***"}],
        "max_tokens": 3,
        "token": None,
    }
    long = {"a" * 60 + "secret" + "b" * 60: 1, "a" * 200: 1}
    assert Redaction.of(("*secret*",)).value([long, long]) == [dict(zip(long, ("***", 1), strict=True))] * 2
    assert Redaction.of(()).value(document) == document
    assert Redaction.of(("pin",)).text("pin: 1234, password: x") == "pin: ***, password: x"


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"token": " the"}, {"token": " the"}),
        ({"token": 262}, {"token": 262}),
        ({"Token": ["ot", "ters"]}, {"Token": ["ot", "ters"]}),
        ({"name": "token", "data": " the"}, {"name": "token", "data": " the"}),
        ('{"token": " the"}', '{"token": " the"}'),
        ({"token": {"text": "x", "pin_secret": "x"}}, {"token": {"text": "x", "pin_secret": "***"}}),
        ({"token": "internationalization's"}, {"token": "internationalization's"}),
        ({"token": "4f7a1bc09de2a6b8"}, {"token": "***"}),
        ({"token": f"ghp_{'x1' * 18}"}, {"token": "***"}),
        ({"access_token": "x", "next_token": "x"}, {"access_token": "***", "next_token": "***"}),
        ({"name": "password", "value": "x"}, {"name": "password", "value": "***"}),
    ],
)
def test_a_part_shows_the_tokens_of_a_language(part: object, shown: object) -> None:
    assert Redaction.of(REDACTED).of_parts.value(part) == shown
    assert Redaction.of(("token",)).of_parts.value({"token": " the"}) == {"token": "***"}, "a pattern asks for it"


def test_a_schema_hides_the_defaults_of_fields_by_name() -> None:
    nested = {"type": "object", "properties": {"token": {"const": PLANTED}, "size": {"default": 3}}}
    schema = {
        "properties": {
            "password": {"type": "string", "default": PLANTED, "examples": [PLANTED]},
            "default": {"type": "string", "default": f"password={PLANTED}"},
            "one": {"$ref": "#/$defs/One", "default": {"password": PLANTED, "size": 1}},
        },
        "required": ["password"],
        "$defs": {"One": nested},
    }
    shown = HIDES.schema(schema)
    assert PLANTED not in json.dumps(shown)
    assert shown["properties"]["password"] == {"type": "string", "default": "***", "examples": "***"}
    assert shown["properties"]["one"]["default"] == {"password": "***", "size": 1}
    assert shown["$defs"]["One"]["properties"]["size"] == {"default": 3}
    assert shown["required"] == ["password"]
    assert HIDES.schema(None) is None


def test_what_was_hidden_and_not_touched_is_restored() -> None:
    original = {"password": "hunter2", "note": "token=abc", "rows": [{"secret": 1}], "n": 1, "token=a": 5, "x": []}
    original |= {"headers": [["cookie", "a"], ["b", "c"]], "argv": ["--token", "a"], "token=b": {"c": 1}}
    edited = HIDES.value(original) | {"n": 2}
    assert HIDES.restored(edited, original) == original | {"n": 2}
    assert HIDES.restored({"password": "new"}, original) == {"password": "new"}


@pytest.mark.parametrize("edited", [{"other": "***"}, {"note": "token=*** and"}, {"rows": [{"secret": "***"}] * 2}])
def test_a_hidden_value_that_has_moved_is_refused(edited: Any) -> None:
    original = {"password": "hunter2", "note": "token=abc", "rows": [{"secret": 1}]}
    with pytest.raises(ValueError, match="write the whole new value"):
        HIDES.restored(edited, original)


@pytest.mark.anyio
async def test_an_error_that_quotes_a_damaged_record_shows_no_secret_of_it(redis_settings: RedisSettings) -> None:
    """On a page, from the API, and to a client of the agent."""
    async with (
        site(redis_settings, web_a2a=True) as here,
        redis.asyncio.from_url(redis_settings.url) as client,
    ):
        await here.manager.run_task("hello", task_id="t")
        await client.hset(f"{Keys(redis_settings.queue).prefix}task:t", "attempts", "password=hunter2-secret")
        call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "t"}}
        answers = (
            await here.browser.get("/task?id=t", headers=HTML),
            await here.program.get("/api/v1/tasks/t"),
            await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"}),
        )
        for answer in answers:
            assert ("cannot be read" in answer.text, "hunter2" in answer.text) == (True, False), answer.text


@pytest.mark.anyio
async def test_pages_show_no_secret_of_a_task(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        manager = here.manager
        await manager.run_task(data={"user": "ada", "nested": {"password": PLANTED}}, task_id="data")
        await manager.run_task(f'login with password="{PLANTED}"', task_id="text")
        await manager.run_task(json.dumps({"api_key": PLANTED, "user": "ada"}), task_id="json")
        for task in ("data", "text", "json"):
            await manager.cancel_task(task, f"its token={PLANTED} was wrong")
            shown = await here.page(f"/task?id={task}")
            assert PLANTED not in shown, task
            assert "***" in shown
        assert "ada" in await here.page("/task?id=data")
        for path in ("/tasks", "/dead", "/unreadable", "/events", "/activity"):
            assert PLANTED not in await here.page(path), path


@pytest.mark.anyio
async def test_a_search_finds_no_secret(redis_settings: RedisSettings) -> None:
    async with site(redis_settings) as here:
        await here.manager.run_task(data={"user": "ada", "password": PLANTED}, task_id="data")
        await here.manager.run_task(f"login with password={PLANTED}", task_id="text")
        await here.manager.run_task(f"an essay on {PLANTED}", task_id="plain")
        for page in ("/tasks?", "/tasks/bulk?verb=cancel&", "/api/v1/tasks?"):
            answer = await here.browser.get(f"{page}text={PLANTED}")
            assert ids_of(answer.text) == {"plain"}, page
        assert "Cancel 1 task</button>" in await here.page(f"/tasks/bulk?verb=cancel&text={PLANTED}")
        await here.change("/bulk/begin", verb="cancel", text=PLANTED)
        await ended(here)
        assert [task.task_id for task in (await here.manager.list_tasks("canceled")).tasks] == ["plain"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "text",
    [
        '{"password": {"old": {"v": "hunter2"}}}',
        ' {"password": ["a", ["hunter2"]]}',
        "password=hunter2",
        '"api key" password: hunter2 & more',
    ],
)
async def test_the_filter_of_a_change_of_many_tasks_shows_no_secret(redis_settings: RedisSettings, text: str) -> None:
    async with site(redis_settings) as here:
        await here.change("/bulk/begin", verb="cancel", text=text)
        await ended(here)
        for path in ("/bulk", "/activity", "/api/v1/bulk", "/api/v1/activity"):
            shown = await here.page(path)
            assert (PLANTED in shown, "***" in shown) == (False, True), path


@pytest.mark.parametrize(("query", "shown"), [("", ""), ("state=failed&text=a+b%26c", "state=failed&text=a+b%26c")])
def test_the_query_of_an_address_that_hides_nothing_stays_as_it_is(query: str, shown: str) -> None:
    assert HIDES.query(query) == shown


def ids_of(page: str) -> set[str]:
    """The tasks that a page or an answer of the API lists."""
    return set(re.findall(r'(?:href="/task\?id=|"task_id":")(\w+)', page))


PIECES = ("password", "pin", "secret:", "token", ":", "::", ".", "-", "--", "_", "sk_live_", "AKIA", "eyJ", "jdbc:")
KEYS = ("x" * 16, "9fa31Bc" * 4, "ABCDEFGH12345678", "2026-11-28T02:03:04.123Z", "Cookie:", "name:Cookie:value:x")


def test_a_simple_text_is_searched_as_any_other_is() -> None:
    """Most texts are simple, and few of the finders can find anything in them: all finders find no more."""
    hides, draw, changed = Redaction.of(REDACTED).hides, random.Random(7), 0
    for _ in range(4000):
        text = "".join(draw.choice(PIECES + KEYS) for _ in range(draw.randrange(1, 7)))
        shown = redaction.without_values(text, hides)
        assert shown == redaction._without_values(text, hides), text
        changed += shown != text
    assert changed > 1000
