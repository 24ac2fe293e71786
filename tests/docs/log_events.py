"""The events that Holdfast logs, read from its sources: `python -m tests.docs.log_events docs/logs.md` renews the page.

An event stands in the sources as `_log.warning("the event", task=…)`, or in the parent's core as
`Log("warning", "the event", {"slot": …})`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast_config.logging import DROPPED, REPEATED

ROOT = Path(__file__).parents[2]
SOURCES = ("config/holdfast_config", "workers/holdfast", "supervisor/holdfastd")
LEVELS = ("debug", "info", "warning", "error", "critical")
GAP = "…"  # a part of an event that differs
OF_TASK = ("task", "turn", "delivery", "lane", "handler", "worker", "trace_id", "span_id")
FIELDS_HEADER = "| field | type | meaning |\n|---|---|---|\n"
EVENTS_HEADER = "| event | logger | level | fields |\n|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """`levels`: more than one where it depends. `fields`: those that it may have beside the fields of every line."""

    logger: str
    text: str
    levels: tuple[str, ...]
    fields: tuple[str, ...]

    def merged(self, other: LoggedEvent) -> LoggedEvent:
        levels = tuple(level for level in LEVELS if level in {*self.levels, *other.levels})
        return replace(self, levels=levels, fields=tuple(dict.fromkeys((*self.fields, *other.fields))))


def events() -> list[LoggedEvent]:
    """All events in order."""
    found: dict[tuple[str, str], LoggedEvent] = {}
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            for event in _File(ast.parse(path.read_text())).events():
                known = found.get((event.logger, event.text), event)
                found[event.logger, event.text] = known.merged(event)
    told = LoggedEvent(GAP, REPEATED, LEVELS[1:], ("of", "count"))  # under the name of the logger that was limited
    dropped = LoggedEvent("holdfast.log", DROPPED, ("warning",), ("count",))
    return [*(found[key] for key in sorted(found)), told, dropped]


class _File:
    def __init__(self, tree: ast.Module) -> None:
        self._functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        self._loggers = dict(_loggers(tree))
        self._values: dict[str, ast.expr] = {}  # assigned to plain names in the present function

    def events(self) -> Iterator[LoggedEvent]:
        for function in self._functions:
            self._values = dict(_assigned(function))
            for node in ast.walk(function):
                if isinstance(node, ast.Call):
                    yield from self._of_call(node)

    def _of_call(self, call: ast.Call) -> Iterator[LoggedEvent]:
        match call.func:
            case ast.Name("Log"):
                level, text, *rest = call.args
                fields = self._keys(rest[0]) if rest else ()
                yield from _logged("holdfast.parent", self._texts(level), self._texts(text), fields)
            case ast.Attribute(ast.Name("Log"), "about"):  # of a child
                _, level, text = call.args
                fields = ["slot", "pid", *(field for keyword in call.keywords for field in self._of_keyword(keyword))]
                yield from _logged("holdfast.parent", self._texts(level), self._texts(text), fields)
            case ast.Name(name) if isinstance(chosen := self._values.get(name), ast.IfExp):
                for method in (chosen.body, chosen.orelse):
                    yield from self._of_method(call, method)
            case method:
                yield from self._of_method(call, method)

    def _of_method(self, call: ast.Call, method: ast.expr) -> Iterator[LoggedEvent]:
        match method:
            case ast.Attribute(ast.Name(name), level) if name in self._loggers:
                logger = self._loggers[name]
            case ast.Attribute(ast.Call(ast.Attribute(_, "get_logger"), [ast.Constant(str(logger))]), level):
                pass
            case _:
                return
        if level in (*LEVELS, "exception"):
            fields = [field for keyword in call.keywords for field in self._of_keyword(keyword)]
            if level == "exception":
                level, fields = "error", [*fields, "exception"]
            yield from _logged(logger, [level], self._texts(_event(call)), fields)

    def _texts(self, node: ast.expr) -> list[str]:
        """The texts that an expression can have."""
        match node:
            case ast.Constant(str(text)):
                return [text]
            case ast.IfExp(_, first, second):
                return [*self._texts(first), *self._texts(second)]
            case ast.JoinedStr(parts):
                return ["".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in parts)]
            case ast.Name(name) if name in self._values:
                return self._texts(self._values[name])
            case _:
                return [GAP]

    def _keys(self, node: ast.expr) -> list[str]:
        """The keys that an expression of a dictionary can have."""
        match node:
            case ast.Dict(keys):
                return [str(key.value) for key in keys if isinstance(key, ast.Constant)]
            case ast.IfExp(_, first, second):
                return [*self._keys(first), *self._keys(second)]
            case ast.Name(name) if name in self._values:
                return self._keys(self._values[name])
            case ast.Call(ast.Attribute(_, "log_fields")):
                return list(OF_TASK)
            case ast.Call(ast.Name(name)):
                return [key for value in self._returned(name) for key in self._keys(value)]
            case _:
                raise ValueError(f"not understood: {ast.unparse(node)}")

    def _returned(self, function: str) -> Iterator[ast.expr]:
        for each in self._functions:
            if each.name == function:
                yield from (node.value for node in ast.walk(each) if isinstance(node, ast.Return) and node.value)

    def _of_keyword(self, keyword: ast.keyword) -> list[str]:
        match keyword.arg:
            case None:
                return self._keys(keyword.value)
            case "exc_info":
                return ["exception"]
            case "extra":
                return [key for key in self._keys(keyword.value) if key != "event"]
            case name:
                return [name]


def _logged(logger: str, levels: list[str], texts: list[str], fields: Sequence[str]) -> Iterator[LoggedEvent]:
    for text in texts:
        yield LoggedEvent(logger, text, tuple(level for level in LEVELS if level in levels), tuple(fields))


def _event(call: ast.Call) -> ast.expr:
    """The text of an event; that of a library's own logging is in `extra`."""
    for keyword in call.keywords:
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "event":
                    return value
    return call.args[0]


def _loggers(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that loggers are assigned to, and their own names."""
    for name, value in _assigned(tree):
        match value:
            case ast.Call(ast.Attribute(_, "get_logger" | "getLogger"), [ast.Constant(str(logger))]):
                yield name, logger
            case ast.Call(ast.Attribute(_, "wrap_logger"), [ast.Call(_, [ast.Constant(str(logger))])]):
                yield name, logger
            case _:
                pass


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def schema() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((ROOT / "config/log.schema.json").read_text())
    return parsed


def renewed(page: str) -> str:
    """The page with the tables of the present fields and events."""
    before, rest = page.split(FIELDS_HEADER)
    between, after = rest.split(EVENTS_HEADER)
    fields = "".join(_field(name, about) for name, about in schema()["properties"].items())
    rows = "".join(_row(event) for event in events())
    return before + FIELDS_HEADER + fields + _behind(between) + EVENTS_HEADER + rows + _behind(after)


def _field(name: str, about: dict[str, Any]) -> str:
    kind = about["type"]
    return f"| `{name}` | {kind if isinstance(kind, str) else ' or '.join(kind)} | {about['description']} |\n"


def _row(event: LoggedEvent) -> str:
    fields = ", ".join(f"`{field}`" for field in event.fields)
    return f"| {event.text} | `{event.logger}` | {', '.join(event.levels)} | {fields} |\n"


def _behind(part: str) -> str:
    """The text behind a table."""
    return part[part.index("\n\n") + 1 :] if "\n\n" in part else ""


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text()))
