"""Pages from templates. Everything that a template shows is escaped."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse

from holdfast.core.bulk_changes import filter_words
from holdfast.version import installed
from holdfast.why.times import span
from holdfast_config.error_text import escape
from holdfastd.documents import queue_documents
from holdfastd.documents.queue_documents import rate_words
from holdfastd.documents.task_list import arguments_in_brief
from holdfastd.web.queue.queue_access import WARNING, queue_of
from holdfastd.web.queue.redaction import Redaction
from holdfastd.web.views.menu_and_strip import ENTRIES, MENU, state_of

TEMPLATES = Path(__file__).parent / "templates"
NONE = "-"
PAYLOAD = 20_000  # characters of a payload that a page shows, unless the user asks for all
COMMAND = re.compile(
    r"(?<!the )(?<!a )\bsupervisor (?:(?:dead|queue|db|service) [a-z-]+|lanes (?:set|resume) [^\s;,]+|[a-z-]+)"
    r"(?: --lanes [^\s;,]+| --[a-z-]+(?: [A-Z][\w/]*)?| [A-Z_]+\b)*"
)
MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)")
LONGEST_ID = 16  # characters of an id in a table
LONGEST_NAME, TAIL = 20, 10  # characters of a name that is never cut, and of the end of another
BREAKS = re.compile(r"(?<=[:._/-])(?=[^\W\d])|(?<=[a-z0-9])(?=[A-Z])|(?<=[^\W_A-Z]{16}|[A-Z]{16})(?=\w)")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64}")
FIRE = re.compile(r"(.+)@\d{8}T(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z")
DISTANCES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
RATES = ((1, "s"), (60, "min"), (3600, "h"))  # seconds of each unit


def page(request: Request, template: str, status: int = 200, **values: object) -> HTMLResponse:
    """The page that this template makes from the values. Every template also knows `visitor`, `queue`, `menu`, `path`
    and the other names that this function adds."""
    known = {
        "visitor": request.scope.get("visitor"),
        "queue": queue_of(request).queue,
        "version": installed(),
        "menu": MENU,
        "frame": state_of(request),
        "path": request.url.path,
        "query": request.query_params,
        "filter_words": filter_words,
        "warning": _warning(request),
    }
    return HTMLResponse(environment(queue_of(request).redaction).get_template(template).render(known | values), status)


WAYS = (("/", "Overview"), ("/tasks", "Tasks"), ("/dead", "Dead letters"))


def problem_page(request: Request, status: int, title: str, text: str) -> HTMLResponse:
    """The page of an error. A thing that does not exist is told calmly, with a way to find another one."""
    near = [(entry.path, entry.title) for entry in ENTRIES if entry.is_above(request.url.path, request.query_params)]
    ways = list(dict.fromkeys([*near, *WAYS]))
    sought = request.query_params.get("id") or request.query_params.get("name") or ""
    known = {
        "title": title,
        "problem": text,
        "is_calm": status == 404,
        "ways": ways,
        "sought": sought[:200] * (status == 404),
    }
    return page(request, "problem.html", status, **known)


def _warning(request: Request) -> str:
    """The warning of this request, or of the form sent before it: see `AskedChange.warning`. A refresh of a part of
    the page does not show the line, so that the next whole page shows it."""
    visitor, line = request.scope.get("visitor"), request.scope.get(WARNING, "")
    if line or visitor is None or "hx-request" in request.headers:
        return str(line)
    after_form: dict[str, str] = request.app.state.warnings
    return after_form.pop(visitor.name, "")


class BuiltTemplates(BytecodeCache):
    """Templates that another process has compiled, by jinja's keys. Each is handed out once: jinja keeps it then.
    Jinja itself compiles a template that is missing here, or whose file has changed since."""

    def __init__(self) -> None:
        self.code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := self.code.pop(bucket.key, None):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep nothing: jinja has the template."""


BUILT = BuiltTemplates()


def compiled_templates() -> dict[str, bytes]:
    """All templates, compiled, for `BUILT`. The compiler leaves 4 MB of scattered memory behind, so a process that
    lives long lets a child call this."""
    found, own = dict[str, bytes](), environment(Redaction.of(()))
    assert own.loader
    for name in own.list_templates():
        source, path, _ = own.loader.get_source(own, name)
        bucket = BUILT.get_bucket(own, name, path, source)
        bucket.code = own.compile(source, name, path)
        found[bucket.key] = bucket.bytecode_to_string()
    return found


@cache
def environment(redaction: Redaction) -> Environment:
    """The template engine with its filters. `redacted` removes secrets from texts: reasons, errors, raw entries.
    `pretty` prints payloads, also without secrets."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        bytecode_cache=BUILT,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    times = (when, exactly, moments, seconds, ago, span)
    names = (brief_id, breakable, middle, without_modules)
    own = (*times, *names, commands, count, beginning, raw, short, rate, rate_words, query_with)
    found.filters |= {each.__name__: each for each in own}
    found.filters |= {
        "in_brief": partial(arguments_in_brief, hide=redaction.value),
        "compact": lambda value: json.dumps(redaction.value(value), ensure_ascii=False),
        "pretty": lambda value: pretty(redaction.value(_plain(value))),
        "pretty_part": lambda value: pretty(redaction.of_parts.value(_plain(value))),
        "redacted": redaction.text,
        "redacted_query": redaction.query,
        "bytes": bytes_,
        "lane_state": queue_documents.state_words,
        "weights": queue_documents.weight_words,
        "timeouts": queue_documents.timeout_words,
    }
    return found


def when(ms: int | None) -> str:
    """A time as its distance from now, with the exact UTC time on hover. A script of the page updates the distance."""
    return _time(ms, _distance(ms / 1000 - time.time())) if ms else NONE


def exactly(ms: int | None) -> str:
    """A time in UTC. A script of the page converts it to the reader's time zone."""
    return _time(ms, "") if ms else NONE


def _time(ms: int, words: str) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    exact = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    machine = moment.isoformat(timespec="milliseconds")
    if not words:
        return Markup('<time datetime="{}" class="exact">{}</time>').format(machine, exact)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(machine, exact, words)


def _distance(seconds: float) -> str:
    """The distance of a time from now, in words: `4 min ago`, `in 2 h`. `seconds` is negative for the past."""
    for length, unit in DISTANCES:
        if abs(seconds) >= length:
            words = f"{abs(seconds) / length:.0f} {unit}"
            return f"in {words}" if seconds > 0 else f"{words} ago"
    return "now"


def moments(text: str) -> str:
    """The text with each time in it marked up by `exactly`."""
    parts = MOMENT.split(text)  # every second part is a time
    return Markup("").join(_moment(part) if place % 2 else part for place, part in enumerate(parts))


def commands(text: str) -> str:
    """The text with each command of `supervisor` in it marked up as code."""
    found, end = Markup(), 0
    for each in COMMAND.finditer(text):
        found += Markup("{}<code>{}</code>").format(text[end : each.start()], each[0])
        end = each.end()
    return found + text[end:]


def _moment(text: str) -> str:
    try:
        return exactly(round(datetime.fromisoformat(text).timestamp() * 1000))
    except ValueError:  # a day that does not exist, such as 2026-02-30
        return text


def ago(ms: float) -> str:
    """A length of time in milliseconds, as a distance before now: `5 min ago`."""
    return _distance(-ms / 1000)


def seconds(value: float | None) -> str:
    """A length of time in seconds, in words: `<1ms`, `250ms`, `1.3s`, `12s`, `4m 5s`."""
    if value is None:
        return NONE
    return span(round(value * 1000)) if not 0 < value < 0.0005 else "<1ms"


def count(value: float | None) -> str:
    """A number with thin spaces between thousands."""
    return NONE if value is None else f"{value:,.0f}".replace(",", "\u202f")


def bytes_(value: float | None) -> str:
    """A number of bytes in MB."""
    return NONE if value is None else f"{value / 1e6:,.0f} MB"


def raw(content: bytes) -> str:
    """Bytes as text. Unprintable characters are escaped, line ends are kept."""
    return escape(content.decode("utf-8", "backslashreplace"), keep="\n")


def rate(value: float) -> str:
    """A rate, given per second, in words: `12/s`. A small rate is written per minute or per hour."""
    length, unit = next(((length, unit) for length, unit in RATES if value * length >= 0.1 or not value), RATES[-1])
    each = value * length
    return f"{each:.0f}/{unit}" if each >= 10 or not each else f"{each:.2g}/{unit}"


def short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def brief_id(task_id: str) -> str:
    """A short form of an id for a table: the first eight characters of a UUID or digest, the schedule and the time of
    day (UTC) of a fire, both ends of another id."""
    if UUID.fullmatch(task_id):
        return task_id[:8]
    if fire := FIRE.fullmatch(task_id):
        return "{}@{}:{}:{}".format(short(fire[1], 12), *fire.groups()[1:])
    return task_id if len(task_id) <= LONGEST_ID else f"{task_id[: LONGEST_ID - 9]}…{task_id[-8:]}"


def beginning(text: str, *, is_whole: bool = False) -> str:
    """The beginning of a payload that a page shows; the whole payload if `is_whole`."""
    return text if is_whole else text[:PAYLOAD]


def without_modules(text: str) -> str:
    """A reason that begins with the class of an error, without the modules of the class."""
    return re.sub(r"^(?:\w+\.)+(?=\w+(?::|$))", "", text)


def breakable(text: str) -> str:
    """The text with the places where a line may break: after a mark, before a capital, and in a very long word."""
    return Markup("<wbr>").join(BREAKS.split(text))


def middle(text: str) -> str:
    """A name whose end stays in sight: if there is no room, the page cuts it before its last letters."""
    if len(text) <= LONGEST_NAME:
        return text
    return Markup('<span class="middle" title="{}"><span>{}</span><span>{}</span></span>').format(
        text, text[:-TAIL], text[-TAIL:]
    )


def _plain(value: object) -> object:
    """The value in plain types such as dict and list. A value that is nested too deeply stays as it is; the redaction
    cuts it."""
    try:
        return msgspec.to_builtins(value)
    except RecursionError:
        return value


def pretty(value: object) -> str:
    """A JSON value, indented on several lines; a text stays as it is."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2)


def query_with(query: Mapping[str, Any], **changed: object) -> str:
    """The query of a URL with changed values: `?state=failed&limit=50`. A value that is None or empty is left out."""
    items = query.multi_items() if isinstance(query, QueryParams) else list(query.items())
    kept = [(name, value) for name, value in items if name not in changed] + list(changed.items())
    return f"?{urlencode([(name, value) for name, value in kept if value not in (None, '')])}"
