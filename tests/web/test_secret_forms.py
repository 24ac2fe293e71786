"""The forms in which a secret stands in a text, and ordinary texts that are shown as they are."""

from __future__ import annotations

import base64
import json
from itertools import product
from time import thread_time
from typing import Any
from urllib.parse import quote

import pytest

from holdfast_config.values import REDACTED
from holdfastd.web.queue.redaction import Redaction

HIDES = Redaction.of(REDACTED)
PLANTED = "hunter2"
LOGIN = base64.b64encode(b"ada:hunter2").decode()
MIXED = "a1B2c3D4"
FULL_WIDTH = "".join(chr(ord(letter) + 0xFEE0) for letter in "password")

SIGNS = (
    *("password -> hunter2", "password->hunter2", "password => hunter2", "password := hunter2", "x password → hunter2"),
    *(
        "x password <- 'hunter2'",
        "password!=hunter2",
        "{:password=>'hunter2'}",
        "x password\uff1dhunter2",
        "x password\uff1ahunter2",
    ),
)
NAMES = (
    *("pass=hunter2", "x auth=hunter2", "jwt=hunter2", "session=hunter2", "x sessionid=hunter2", "sid=hunter2"),
    *(
        "DB_PASS=hunter2",
        "smtp.pass=hunter2",
        "dbPass: hunter2",
        "connect.sid=hunter2",
        "JSESSIONID=hunter2",
        "token2=hunter2",
    ),
    *(
        '{"auth": "hunter2"}',
        '{"session": {"a": "hunter2"}}',
        '{"DbPass": 123456}',
        "api key: hunter2",
        "Session ID = hunter2",
    ),
    *("pass='12       hunter2'", "environ({'DB_PASS': 'hunter2'})", "export DB_PASS='hunter2'", "pass: 12 hunter2"),
)
SPELLINGS = (
    *(
        r"pass\u0077ord=hunter2",
        r'x {"pass\u0077ord": "hunter2"}',
        r"x {\"pass\\u0077ord\": \"hunter2\"}",
        r"x \x70assword=hunter2",
    ),
    *(
        r"x {\u0022password\u0022: \u0022a hunter2\u0022}",
        r'{"password": "a\u0022 hunter2"} x',
        r"x pass\u{77}ord=hunter2",
    ),
    *(r'x {"a": "{\"b\": \"{\\\"pass\\\\u0077ord\\\": \\\"hunter2\\\"}\"}"}', '{"pass\u200bword": "hunter2"}'),
    *(r'x {"\ud835\udc29assword": "hunter2"}', "x \U0001d429assword=hunter2", f"x {FULL_WIDTH}=hunter2"),
    *("x pass\u200bword=hunter2", "x pa\u0301ssword=hunter2", "x p\xe1ssword=hunter2", "p\x00assword=hunter2"),
    *(
        "\x1b[31mpass\x1b[0mword=hunter2",
        "x pa\xadssword: hunter2",
        "x &#112;assword=hunter2",
        "“password”: “a hunter2”",
    ),
    *(
        "{&quot;password&quot;: &quot;a hunter2&quot;}",
        "&lt;password&gt;a hunter2&lt;/password&gt;",
        "x api\u2010key=hunter2",
    ),
    *(
        "?p%61ssword=hunter2&x=1",
        '{"p%61ssword": "hunter2"}',
        'x {"p%61ssword":"hunter2"}',
        '{"&#112;assword": "hunter2"}',
    ),
    quote(quote(quote(quote(quote("password=hunter2"))))),
)
ELEMENTS = (
    *(
        "<password>a<b/>hunter2</password>",
        "<a:password x='1'>a<b>hunter2</b></a:password>",
        "<DbPass>hunter2</DbPass>",
    ),
    *("<Password><Value>hunter2</Value></Password>", "<property name='password'>hunter2</property>"),
    *(
        "<property><name>db.password</name><value>hunter2</value></property>",
        "<key>password</key><string>hunter2</string>",
    ),
    *("<password hint='a>b'>x<![CDATA[<hunter2>]]></password>", "<password><password>a</password>hunter2</password>"),
    *("<add key='password' value='hunter2'/>", "<password it's>hunter2</password>", "<password>hunter2"),
)
PAIRS = (
    *('{"header": "Cookie", "content": "hunter2"}', '{"field": "password", "val": "hunter2"}'),
    *('x {"value": "hunter2", "name": "password"}', 'x {"name": "Cookie", "secure": true, "value": "hunter2"}'),
    *('x {"header": "Cookie", "content": "a hunter2"}', "x {'param': 'password', 'data': 'hunter2'}"),
    *(
        '{"Variable": "DB_PASS", "Values": ["hunter2"]}',
        "x name=password value={'a': 'hunter2'}",
        "- value: hunter2\n  name: token",
    ),
)
BLOCKS = (
    *("password: |\n  a\n\n  hunter2\nuser: u", "password: !vault |\n  hunter2\nuser: u", "password: >-\n  hunter2"),
    *("- password: |\n    hunter2", "[db]\npassword = a hunter2 ; c", 'password="""a\nhunter2"""'),
    '--B\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2\r\n--B--',
    r'--B\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2\r\n--B--',
    '--B\nContent-Disposition: form-data; name="token"; filename="a"\nContent-Type: text/plain\n\na\nhunter2\n--B--',
)
COMMANDS = (
    *(
        "x --password hunter2",
        "x -password hunter2",
        "mysql -phunter2 x",
        "sshpass -p hunter2 ssh h",
        "docker login -p hunter2",
    ),
    *(
        "curl -u ada:hunter2 http://h",
        "curl --user 'ada:hunter2' h",
        "redis-cli -h h -a hunter2",
        "setenv DB_PASS hunter2",
    ),
    *(
        "ENV DB_PASSWORD hunter2",
        "requirepass hunter2",
        "machine h login u password hunter2",
        "login u\npassword hunter2",
    ),
    *("CREATE USER u IDENTIFIED BY 'hunter2'", "config set masterauth hunter2"),
)
ADDRESSES = (
    *(
        "mongodb+srv://u:hunter2@h/db",
        "jdbc:postgresql://h/db?user=u&password=hunter2",
        "jdbc:oracle:thin:u/hunter2@h:1521",
    ),
    *(
        "root:hunter2@tcp(h:3306)/db",
        "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=hunter2=",
        "Set-Cookie: a=hunter2; Path=/",
    ),
)
SCHEMES = (
    *(
        "sent Bearer hunter2",
        "Bearer SEKRIThunter2",
        "got Token hunter2abc",
        "x auth: Bearer hunter2",
        "token=Bearer hunter2 z",
    ),
    "a bearer token hunter2",
)


@pytest.mark.parametrize(
    "text",
    [*SIGNS, *NAMES, *SPELLINGS, *ELEMENTS, *PAIRS, *BLOCKS, *COMMANDS, *ADDRESSES, *SCHEMES],
)
def test_a_secret_is_hidden_in_each_form(text: str) -> None:
    for spelled in (text, f"{text}\nand more", f"and more\n{text}"):
        shown = HIDES.text(spelled)
        assert (PLANTED in shown, "123456" in shown, "***" in shown) == (False, False, True), shown


@pytest.mark.parametrize(
    "key",
    [
        *(
            f"ghp_{MIXED * 5}",
            f"github_pat_11ABC{MIXED}_{MIXED * 4}",
            f"glpat-{MIXED * 3}",
            "xoxb-1234567890-abcdefghij",
        ),
        *(f"sk_live_{MIXED * 3}", f"sk-proj-{MIXED * 5}", f"sk-ant-api03-{MIXED * 5}", "AKIAIOSFODNN7EXAMPLE"),
        *(
            f"AIza{MIXED * 5}",
            f"hf_{MIXED * 4}",
            f"npm_{MIXED * 5}",
            f"SG.{MIXED * 3}.{MIXED * 5}",
            f"whsec_{MIXED * 4}",
        ),
        *(
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcDEF123",
            f"Basic {LOGIN}",
            f"ya29.{MIXED * 4}",
            f"1234567890:AA{MIXED * 4}",
        ),
        *("https://hooks.slack.com/services/T0/B0/XXabc", "https://discord.com/api/webhooks/12/XXabc"),
    ],
)
def test_a_key_is_known_by_its_form(key: str) -> None:
    for text in (f"x {key} y", json.dumps({"a": f"the key {key}."}), f"{key}\n", f"x='{key}'"):
        assert key.removeprefix("Basic ") not in HIDES.text(text), text
    assert Redaction.of(()).text(f"x {key} y") == f"x {key} y"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "the author: Ada Lovelace",
            "author=ada",
            "passes: all of them",
            "12 passes, session of parliament",
            "pass=3 fail=2",
        ),
        *(
            "pass: 12 of 13",
            "pass=12/13",
            "compass=north",
            "bypass=yes",
            "keyboard: de",
            "authority: none",
            "session=3",
        ),
        *("auth=basic", "auth: none", "auth=required mode=x", "x session: closed, took 3 s", "sid=12", "max_tokens=5"),
        *(
            "tokens used: 4",
            "monkey=banana",
            "key: value",
            "sort_key=name",
            "primary_key: id",
            "name=ada value=3",
            "tests: pass",
        ),
        *("Bearer of bad news", "Basic knowledge of SQL", "Basic Authentication", "Token expired", "token economy"),
        *(
            "sk-learn-contributors",
            "npm_config_registry_address",
            "password reset for ada",
            "the password is too short",
        ),
        *(
            "docker run -p 8080:80 image",
            "mkdir -p /a/b",
            "psql -p 5432",
            "set timeout 5",
            "ENV PATH /bin",
            "ssh -p 22 h",
        ),
        *(
            "login with password and key",
            "<p>the author</p>",
            "<session>3</session>",
            "<a href='x'>y</a>",
            "passenger=ada",
        ),
        *(
            "assessment=3",
            "oauth flow",
            "authenticated=true",
            "sidebar=left",
            "inside: x",
            "obsession=tea",
            "possession: 60 %",
        ),
        *(
            "é è ü: ok",
            "日本語: テスト",
            "“quoted”: “text”",
            "a → b",
            "C:\\users\\x45 y",
            "AT&amp;T &lt;b&gt;",
            "f(a) -> int",
        ),
        *(
            "Cookie policy",
            "signature pad",
            "100 %25 of %41",
            "(name: a, value: 3), (name: token)",
            "pass",
            "sessions: 12",
        ),
    ],
)
def test_an_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert HIDES.text(text) == text
    assert HIDES.value({"a": [text]}) == {"a": [text]}


def test_an_ordinary_document_is_shown_as_it_is() -> None:
    document: dict[str, Any] = {"author": "Ada", "pass": 3, "fail": 2, "auth": True, "session": 12, "compass": "north"}
    document |= {
        "name": "x",
        "value": "y",
        "parts": [{"kind": "text", "text": "hello"}],
        "passes": [1],
        "keyboard": "de",
    }
    assert HIDES.value(document) == document


SPECIAL = "\\\"'{}[(<>:=,&%@/?-. \n!~a1é\u200b"
UNITS = (
    *(
        "password=",
        "name=",
        "value=",
        "\\u0022",
        "&quot;",
        "&amp;",
        "%25",
        "Bearer ",
        "token ",
        "--a ",
        '-a "',
        "<a>",
        "</a>",
    ),
    *(
        "<password>",
        "</password>",
        "<name>password</name>",
        "<value>",
        "sk-",
        "eyJaaaaaaaa.",
        "-eyJaaaaaaaa.",
        ".-a",
        "curl -u ",
    ),
    *("hooks.slack.com/services/", "mysql -p", "content-disposition:", 'content-disposition: name="token"\n\n', "\n--"),
    *(
        "jdbc:oracle:a:",
        "a:a@tcp(",
        "machine a login ",
        "set a ",
        "login a\n",
        "identified by ",
        "api key",
        "\\ud835",
        "\\u{1",
    ),
    *(
        "password: |",
        " \n",
        "!a ",
        "name: password, ",
        "value={",
        "content=(",
        "\x1b[",
        "123456789:AA",
        "auth=",
        "pass: 1 ",
    ),
)


@pytest.mark.parametrize("beginning", ["", "password=", 'x name="token" value=', "<password>", "curl "])
def test_eight_times_as_long_a_text_takes_about_eight_times_as_long(beginning: str) -> None:
    """Of one unit again and again; without a beginning also of each pair of special characters. A time that grew with
    the square would be 64 times as long."""
    units = UNITS if beginning else (*UNITS, *map("".join, product(SPECIAL, repeat=2)))
    for unit in units:
        count = 1000 // len(unit)
        assert any(
            _seconds(beginning + unit * count * 8) < 20 * _seconds(beginning + unit * count) for _ in range(10)
        ), unit


def _seconds(text: str) -> float:
    begun = thread_time()
    HIDES.text(text)
    return thread_time() - begun + 1e-4
