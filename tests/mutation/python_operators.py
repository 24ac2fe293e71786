"""The changes of Python that mutants make: one small fault at a time. The rest of the file stays byte by byte.

Texts are changed where they are keys only, and annotations where they call something (the bounds of settings).
F-strings are left alone: Python 3.11 does not tell where their parts stand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from tests.mutation.mutant import Change, Mutant, with_keys

OPERATORS = ("comparison", "bound", "boolean", "constant", "unit", "dropped statement", "swapped arguments",
             "early return", "exception", "default", "key")  # fmt: skip

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str, str]] = {  # the token as a pattern, its opposite, its other bound
    ast.Lt: (r"<(?!=)", ">=", "<="),
    ast.LtE: (r"<=", ">", "<"),
    ast.Gt: (r">(?!=)", "<=", ">="),
    ast.GtE: (r">=", "<", ">"),
    ast.Eq: (r"==", "!=", ""),
    ast.NotEq: (r"!=", "==", ""),
    ast.Is: (r"is", "is not", ""),
    ast.IsNot: (r"is\s+not", "is", ""),
    ast.In: (r"in", "not in", ""),
    ast.NotIn: (r"not\s+in", "in", ""),
}
_SUMS: dict[type[ast.operator], tuple[str, str]] = {ast.Add: (r"\+", "-"), ast.Sub: (r"-", "+")}
_SMALL = 16  # numbers to here become one more, larger ones twice as large: a test need not see 1001 for 1000
_LEAVING = (ast.Return, ast.Continue, ast.Break, ast.Raise)
_KEYED = {"get", "pop", "setdefault"}
_OTHER_ERROR = "ZeroDivisionError"  # nothing of the product raises or expects it
_UNTOUCHED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is: what all mutants of a statement have in common."""

    where: str = ""
    line: int = 1
    bound: tuple[str, ...] | None = ()


def mutants(file: str, text: bytes) -> list[Mutant]:
    """All mutants of the file, in the order of their places."""
    walk = _Walk(file, text)
    found = walk.body(ast.parse(text), _Place("(module)"))
    return with_keys(text, sorted(found, key=lambda mutant: (mutant.change.start, mutant.change.end)))


class _Walk:
    def __init__(self, file: str, text: bytes) -> None:
        self._file = file
        self._text = text
        self._starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]

    def body(self, node: ast.AST, place: _Place) -> Iterator[Mutant]:
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                yield from self._block(statements, place)

    def _block(self, statements: Sequence[ast.stmt], place: _Place) -> Iterator[Mutant]:
        for statement in statements:
            if not isinstance(statement, _UNTOUCHED) and not _is_text(statement) and not _for_types(statement):
                here = replace(place, line=statement.lineno)
                if place.bound is not None:
                    here = replace(here, bound=_bound(statement) or place.bound)
                yield from self._statement(statement, here)

    def _statement(self, statement: ast.stmt, place: _Place) -> Iterator[Mutant]:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(statement, place)
            case ast.ClassDef():
                named = _Place(_below(place.where, statement.name), place.line, place.bound)
                for each in statement.decorator_list:
                    if not _is_form(each):
                        yield from self._expression(each, named)
                yield from self.body(statement, named)
            case _:
                yield from self._dropped(statement, place)
                yield from self._parts(statement, place)

    def _function(self, function: ast.FunctionDef | ast.AsyncFunctionDef, place: _Place) -> Iterator[Mutant]:
        """Python runs the head of a function when it imports the module; the values matter when the body runs."""
        body = [each for each in function.body if not _is_text(each)] or function.body
        inside = _Place(_below(place.where, function.name), body[0].lineno, None)
        for decorator in function.decorator_list:
            yield from self._expression(decorator, inside)
        for default in (*function.args.defaults, *function.args.kw_defaults):
            if default is not None:
                yield from self._default(default, inside)
        yield from self._block(function.body, inside)

    def _parts(self, node: ast.AST, place: _Place) -> Iterator[Mutant]:
        """The expressions of a statement, and the statements inside it."""
        for field, value in ast.iter_fields(node):
            match value:
                case list():
                    for each in value:
                        yield from self._part(field, each, place)
                case ast.AST():
                    yield from self._part(field, value, place)
        match node:
            case ast.If() | ast.While() | ast.For() | ast.AsyncFor() | ast.With() | ast.AsyncWith() | ast.Try():
                yield from self.body(node, place)
            case ast.ExceptHandler() | ast.match_case():
                yield from self.body(node, place)

    def _part(self, field: str, part: ast.AST, place: _Place) -> Iterator[Mutant]:
        match part:
            case ast.stmt():
                return  # of a body, which has its own walk
            case ast.ExceptHandler():
                if part.type is not None:
                    yield from self._caught(part.type, place)
                yield from self._parts(part, place)
            case ast.match_case():
                if part.guard is not None:
                    yield from self._expression(part.guard, place)
                yield from self.body(part, place)
            case ast.expr() if field == "annotation":
                for call in ast.walk(part):
                    if isinstance(call, ast.Call):
                        yield from self._expression(call, place)
            case ast.expr() if field == "value" and place.bound is not None:
                yield from self._default(part, place)
            case ast.expr():
                yield from self._expression(part, place)
            case ast.withitem():
                yield from self._expression(part.context_expr, place)

    def _dropped(self, statement: ast.stmt, place: _Place) -> Iterator[Mutant]:
        """Statements that are left out, calls and counters among them; leaving early, which is then not done."""
        match statement:
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Delete():
                yield self._changed(statement, "pass", "dropped statement", place)
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._changed(statement, "pass", "dropped statement", place)
            case ast.If() if statement.body and isinstance(statement.body[-1], _LEAVING):
                leaving = statement.body[-1]
                inside = replace(place, line=leaving.lineno)
                yield self._changed(leaving, "pass", "early return", inside)
            case ast.Raise(exc=ast.Call(func=ast.Name() as error)):
                yield self._changed(error, "RuntimeError", "exception", place)

    def _caught(self, caught: ast.expr, place: _Place) -> Iterator[Mutant]:
        for error in caught.elts if isinstance(caught, ast.Tuple) else [caught]:
            yield self._changed(error, _OTHER_ERROR, "exception", place)

    def _default(self, value: ast.expr, place: _Place) -> Iterator[Mutant]:
        """A value that stands where none is given, or that a module has from its import on."""
        match value:
            case ast.Constant(value=bool() | int() | float()) | ast.UnaryOp(operand=ast.Constant()):
                yield self._changed(value, self._other(value), "default", place)
            case ast.Constant(value=None):
                return
            case _:
                yield from self._expression(value, place)

    def _expression(self, node: ast.AST, place: _Place) -> Iterator[Mutant]:
        if isinstance(node, _UNTOUCHED):
            return
        match node:
            case ast.Compare():
                yield from self._comparison(node, place)
            case ast.BoolOp():
                yield from self._boolean(node, place)
            case ast.UnaryOp(op=ast.Not()):
                yield self._changed(node, f"bool({self._source(node.operand)})", "boolean", place)
            case ast.Constant(value=bool() | int() | float()):
                yield self._changed(node, self._other(node), "constant", place)
            case ast.BinOp(op=ast.Mult() | ast.Div() | ast.FloorDiv()) if _is_unit(node.right):
                yield self._changed(node, f"({self._source(node.left)})", "unit", place)
                yield from self._expression(node.left, place)
                return
            case ast.BinOp():
                yield from self._sum(node, place)
            case ast.Call():
                yield from self._call(node, place)
            case ast.Subscript(slice=ast.Constant(value=str()) as key):
                yield self._key(key, place)
            case ast.Dict():
                for entry in node.keys:
                    if isinstance(entry, ast.Constant) and isinstance(entry.value, str):
                        yield self._key(entry, place)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop):
                yield from self._expression(child, place)

    def _comparison(self, node: ast.Compare, place: _Place) -> Iterator[Mutant]:
        for (left, right), sign in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            token, opposite, bound = _COMPARISONS[type(sign)]
            span = self._between(left, right, token)
            yield self._mutant(*span, opposite, "comparison", place)
            if bound:
                yield self._mutant(*span, bound, "bound", place)

    def _boolean(self, node: ast.BoolOp, place: _Place) -> Iterator[Mutant]:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            yield self._mutant(*self._between(left, right, rf"\b{word}\b"), other, "boolean", place)
        neutral = "True" if isinstance(node.op, ast.And) else "False"
        for part in node.values:
            yield self._changed(part, neutral, "boolean", place)

    def _sum(self, node: ast.BinOp, place: _Place) -> Iterator[Mutant]:
        if type(node.op) in _SUMS and not _has_text(node):
            token, other = _SUMS[type(node.op)]
            yield self._mutant(*self._between(node.left, node.right, token), other, "constant", place)

    def _call(self, call: ast.Call, place: _Place) -> Iterator[Mutant]:
        match call:
            case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value=str()) as key, *_]) if name in _KEYED:
                yield self._key(key, place)
            case ast.Call(func=ast.Name(id="suppress")):
                for error in call.args:
                    yield self._changed(error, _OTHER_ERROR, "exception", place)
        for left, right in pairwise(call.args):
            if not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
                swapped = f"{self._source(right)}, {self._source(left)}"
                if self._source(left) != self._source(right):
                    span = self._span(left)[0], self._span(right)[1]
                    yield self._mutant(*span, swapped, "swapped arguments", place)

    def _key(self, key: ast.Constant, place: _Place) -> Mutant:
        return self._changed(key, repr(f"{key.value}_"), "key", place)

    def _other(self, value: ast.expr) -> str:
        match ast.literal_eval(value):
            case bool() as flag:
                return str(not flag)
            case int() as number if abs(number) <= _SMALL:
                return str(number + 1)
            case number:
                return repr(number * 2 or 1.0)

    def _changed(self, node: ast.expr | ast.stmt, new: str, operator: str, place: _Place) -> Mutant:
        return self._mutant(*self._span(node), new, operator, place)

    def _mutant(self, start: int, end: int, new: str, operator: str, place: _Place) -> Mutant:
        return Mutant(self._file, place.line, place.where, operator, Change(start, end, new.encode()), place.bound)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: PT018 # both are of a parsed node
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _source(self, node: ast.expr) -> str:
        start, end = self._span(node)
        source = self._text[start:end].decode()
        return f"({source})" if isinstance(node, ast.NamedExpr | ast.GeneratorExp) and source[0] != "(" else source

    def _between(self, left: ast.expr, right: ast.expr, token: str) -> tuple[int, int]:
        """The token between two operands, past brackets and comments."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self._text[start:end])
        found = re.search(token.encode(), gap)
        assert found is not None
        return start + found.start(), start + found.end()


def _below(where: str, name: str) -> str:
    return name if where == "(module)" else f"{where}.{name}"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_form(decorator: ast.expr) -> bool:
    """`dataclass(frozen=True, slots=True)` and the like hold for the type checker and for memory; no test sees them."""
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) in {"dataclass", "dataclasses.dataclass"}


def _for_types(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def _bound(statement: ast.stmt) -> tuple[str, ...]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case _:
            names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
            return tuple(node.id for node in names if isinstance(node.ctx, ast.Store))


def _has_text(node: ast.AST) -> bool:
    """A sum of texts or lists, which another sign would only make an error of types."""
    parts = ast.walk(node)
    return any(
        isinstance(part, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str | bytes))
        for part in parts
    )


def _is_unit(node: ast.expr) -> bool:
    """A number or the name of one; a division by a text is a path."""
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    return is_number or (isinstance(node, ast.Name) and node.id.isupper())
