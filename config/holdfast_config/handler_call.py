"""Parses a handler that is written as a call: `module:Worker("A:A:B")`. Only literals are allowed as arguments, and no
code is evaluated."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from holdfast_config.lanes import Lane, by_occurrence

LITERALS = 'numbers, texts and other literals, as in module:Worker("A:A:B")'


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """A parsed call. `target`: the class, as module:attribute. `named`: the keyword arguments."""

    target: str
    arguments: tuple[object, ...] = ()
    named: dict[str, object] = field(default_factory=dict[str, object])


def is_call(text: str) -> bool:
    return "(" in text


def read_call(text: str) -> WorkerCall:
    """Parse a call. Raises ValueError if the text is anything but a name called with literals. The error's text is the
    end of a sentence."""
    target, parenthesis, rest = text.strip().partition("(")
    try:
        call = ast.parse(f"f{parenthesis}{rest}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError('must be a class called with literals: module:Worker("A:A:B")') from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError('must be one class called once: module:Worker("A:A:B")')
    if any(keyword.arg is None for keyword in call.keywords):
        raise ValueError(f"has arguments that are no literals: {LITERALS} are allowed")
    named = {str(keyword.arg): _literal(keyword.value) for keyword in call.keywords}
    return WorkerCall(target.strip(), tuple(_literal(argument) for argument in call.args), named)


def implied_lanes(text: object) -> tuple[Lane, ...] | None:
    """The lanes in the first argument of a call: `A:A:B` means A with the weight 2, and B. None if the text is no call,
    or names no lanes."""
    try:
        first = read_call(text).arguments[0] if isinstance(text, str) and is_call(text) else None
        return tuple(by_occurrence(first.split(":"))) if isinstance(first, str) else None
    except (ValueError, IndexError):
        return None


def _literal(node: ast.expr) -> object:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"has the argument {ast.unparse(node)[:80]!r}: {LITERALS} are allowed") from None
    return value
