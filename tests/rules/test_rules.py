"""The list of rules is true: each text stands in the packages once, each test exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.rules.rule import ROOT, Rule, Source, tokens_of
from tests.rules.rules import RULES


def test_each_rule_is_found_once() -> None:
    assert all(rule.file for rule in RULES)


def test_the_test_of_each_rule_exists() -> None:
    tests = {file: _tests(ROOT / file) for file in {rule.test.partition("::")[0] for rule in RULES}}
    places = [(rule.name, *rule.test.partition("::")[::2]) for rule in RULES]
    assert [(rule, file, name) for rule, file, name in places if name not in tests[file]] == []


def test_each_file_without_its_rule_can_still_be_compiled() -> None:
    for rule in RULES:
        if rule.file.endswith(".py"):
            compile(rule.removed(), f"{rule.file} without the rule {rule.name!r}", "exec")


@pytest.mark.parametrize(
    ("old", "told"), [("\n        return None\n", "take in a neighbour"), ("no such line", "stands nowhere")]
)
def test_a_rule_whose_place_is_not_clear_is_told(old: str, told: str) -> None:
    with pytest.raises(LookupError, match=told):
        _ = Rule("a rule", old, "", "").file


def test_code_that_was_moved_and_wrapped_is_found_all_the_same() -> None:
    old, new = "if ready and alone:\n    begin(task, now)", "if ready:\n    begin(task, now)"
    moved = """
class Worker:
    def run(self):
        if ready and alone:  # others wait
            begin(
                task,
                now,
            )
"""
    [place] = Source("moved.py", moved).find(tokens_of(old))
    assert (
        place.replaced(old, new)
        == """
class Worker:
    def run(self):
        if ready:
            begin(task, now)
"""
    )


def test_names_are_told_apart() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


def _tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
