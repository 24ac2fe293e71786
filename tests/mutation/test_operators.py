from __future__ import annotations

import ast

import pytest

from tests.mutation import lua_operators, python_operators
from tests.mutation.areas import AREAS, ROOT, area_of, product_files
from tests.mutation.equivalents import EQUIVALENTS
from tests.mutation.sampler import draw, mutants_of

PYTHON = [
    ("if a < b: f()", "comparison", ["if a >= b: f()"]),
    ("x = (a) <= (b)", "bound", ["x = (a) < (b)"]),
    ("x = a is not b", "comparison", ["x = a is b"]),
    ("x = a in b", "comparison", ["x = a not in b"]),
    ("x = a and b", "boolean", ["x = True and b", "x = a or b", "x = a and True"]),
    ("x = not a", "boolean", ["x = bool(a)"]),
    ("x = f(3, 1000, True)", "constant", ["x = f(4, 1000, True)", "x = f(3, 2000, True)", "x = f(3, 1000, False)"]),
    ("x = a + 1", "constant", ["x = a - 1", "x = a + 2"]),
    ("x = seconds * 1000", "unit", ["x = (seconds)"]),
    ("x = seconds * 1000", "constant", []),
    ("x = folder / 'children'", "unit", []),
    ("@dataclass(frozen=True)\nclass A: pass", "constant", []),
    ("f(a)", "dropped statement", ["pass"]),
    ("async def g():\n    await f(a)", "dropped statement", ["async def g():\n    pass"]),
    ("try:\n    f()\nfinally:\n    g()", "dropped statement",
     ["try:\n    pass\nfinally:\n    g()", "try:\n    f()\nfinally:\n    pass"]),
    ("self.waiting -= 1", "dropped statement", ["pass"]),
    ("f(a, b, c)", "swapped arguments", ["f(b, a, c)", "f(a, c, b)"]),
    ("def g():\n    if a:\n        return 1\n    return 2", "early return",
     ["def g():\n    if a:\n        pass\n    return 2"]),
    ("try: f()\nexcept (A, B): pass", "exception",
     ["try: f()\nexcept (ZeroDivisionError, B): pass", "try: f()\nexcept (A, ZeroDivisionError): pass"]),
    ("raise A(b)", "exception", ["raise RuntimeError(b)"]),
    ("def g(a=1, *, b=False): pass", "default", ["def g(a=2, *, b=False): pass", "def g(a=1, *, b=True): pass"]),
    ("class A:\n    b: int = 32", "default", ["class A:\n    b: int = 64"]),
    ("x = a['b']", "key", ["x = a['b_']"]),
    ("x = {'a': a.get('b', c)}", "key", ["x = {'a_': a.get('b', c)}", "x = {'a': a.get('b_', c)}"]),
    ("x: Annotated[int, Field(ge=1)]", "constant", ["x: Annotated[int, Field(ge=2)]"]),
]  # fmt: skip
LUA = [
    ("if a < b then f() end", "comparison", ["if a >= b then f() end"]),
    ("if a <= b then f() end", "bound", ["if a < b then f() end"]),
    ("local x = a and not b", "boolean", ["local x = a or not b", "local x = a and  b"]),
    ("local x = a + 1", "constant", ["local x = a - 1", "local x = a + 2"]),
    ("if a then\n  f(a)\nend", "dropped statement", ["if a then\n  \nend"]),
    ("if a then\n  b = b + 1\nend", "dropped statement", ["if a then\n  \nend"]),
    ("f(a, b)", "swapped arguments", ["f(b, a)"]),
    ("if a then return 1 end", "early return", ["if a then end"]),
    ("local x = a or 0", "default", ["local x = a or 1"]),
    ("call('HGET', key, 'state')", "key", ["call('HGET', key, 'state_')"]),
    ("f('-- < 1') -- 2 < 3", "bound", []),
]


@pytest.mark.parametrize(("source", "operator", "changed"), PYTHON)
def test_a_change_of_python_is_one_fault(source: str, operator: str, changed: list[str]) -> None:
    found = [each for each in python_operators.mutants("a.py", source.encode()) if each.operator == operator]
    assert [each.change.made(source.encode()).decode() for each in found] == changed


@pytest.mark.parametrize(("source", "operator", "changed"), LUA)
def test_a_change_of_lua_is_one_fault(source: str, operator: str, changed: list[str]) -> None:
    found = [each for each in lua_operators.mutants("a.lua", source.encode()) if each.operator == operator]
    assert [each.change.made(source.encode()).decode() for each in found] == changed


def test_a_statement_of_the_head_of_a_function_counts_for_its_body() -> None:
    (mutant,) = python_operators.mutants("a.py", b"def g(a=1):\n    'Text.'\n    return a\n")
    assert (mutant.line, mutant.bound) == (3, None)


def test_what_runs_at_import_knows_its_names() -> None:
    (mutant,) = python_operators.mutants("a.py", b"MOST = 32\n")
    assert mutant.bound == ("MOST",)


def test_each_area_has_files_and_each_file_an_area() -> None:
    assert {area_of(file) for file in product_files()} == set(AREAS)


def test_a_seed_draws_the_same_mutants_of_all_operators() -> None:
    first, again = ([mutant.key for mutant, _ in zip(draw("agent", seed), range(60))] for seed in ("7", "7"))  # noqa: B905 # draws have no end
    assert first == again
    other = [mutant for mutant, _ in zip(draw("agent", "8"), range(200))]  # noqa: B905 # as above
    assert [mutant.key for mutant in other[:60]] != first
    assert {mutant.operator for mutant in other} == set(python_operators.OPERATORS)
    for mutant in other:
        ast.parse(mutant.change.made((ROOT / mutant.file).read_bytes()))


def test_each_equivalent_is_a_mutant_of_the_tree_with_a_reason() -> None:
    files = {key.partition(" ")[0] for key in EQUIVALENTS}
    keys = {mutant.key for file in files for mutant in mutants_of(file)}
    assert set(EQUIVALENTS) <= keys, "the code of these has changed: judge them anew"
    assert all(len(reason) > 20 for reason in EQUIVALENTS.values())
