"""Code on the pages: it compiles, and its imports of this project exist; the programs of docs/moving.md run."""

from __future__ import annotations

import ast
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from holdfast import Handlers, create_broker
from holdfast.testing.broker import memory_broker
from tests.testing.projects import run_tests

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
OURS = {"holdfast", "holdfast_config", "holdfastd"}


def blocks(page: Path, language: str) -> list[str]:
    return [textwrap.dedent(text) for _, named, text in BLOCK.findall(page.read_text()) if named == language]


def imports(text: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in OURS:
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_on_a_page_compiles(page: Path) -> None:
    for text in blocks(page, "python"):
        compile(text, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_imports_exists(page: Path) -> None:
    named = {each for text in blocks(page, "python") for each in imports(text) if each[0] != "holdfast.bindu"}
    assert [f"{module}.{name}" for module, name in named if not hasattr(import_module(module), name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_toml_on_a_page_is_toml(page: Path) -> None:
    for text in blocks(page, "toml"):
        tomllib.loads(text)


@pytest.mark.anyio
async def test_the_flow_of_its_page_runs_and_says_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs/flows.md"
    program, summary, _ = blocks(page, "python")
    there: dict[str, Any] = {"__name__": "words"}
    exec(compile(program, "words.py", "exec"), there)
    exec(compile(summary, "words.py", "exec"), there)
    async with create_broker(type="memory") as broker, broker.working(there["handlers"]):
        await there["main"]()
        fetched = await there["fetch"].submit("one")
        summed = await there["summary"].options(after=[fetched.task_id]).submit()
        record = await summed.wait(60, raise_failed=True)
    assert record.value == {fetched.task_id: "completed: all words of one"}
    [shown] = blocks(page, "console")
    assert capsys.readouterr().out.strip() == shown.splitlines()[-1]


@pytest.mark.anyio
async def test_the_batch_of_the_page_of_flows_runs(capsys: pytest.CaptureFixture[str]) -> None:
    *_, program = blocks(ROOT / "docs/flows.md", "python")
    handlers = Handlers()
    handlers.register("count")(lambda text: len(text.split()))
    handlers.register("report")(lambda: None)
    async with create_broker(type="memory", handlers=handlers) as broker, broker.working(handlers):
        there: dict[str, Any] = {"manager": broker.manager, "texts": ["one", "two", 3]}
        await eval(compile(program, "batch.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), there)
    counts = there["record"].counts
    assert (counts.total, counts.completed, counts.failed) == (3, 2, 1)
    assert capsys.readouterr().out.splitlines()[-1] == there["ids"][2]


@pytest.mark.anyio
async def test_the_programs_of_the_page_for_movers_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs, produce = blocks(ROOT / "docs/moving.md", "python")
    module = imported("jobs", jobs, monkeypatch)
    with memory_broker(module.handlers) as broker:
        await eval(compile(produce, "produce.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
        [named] = re.findall(r"`manager\.(run_task\(name=.*?lane=.*?\))`", (ROOT / "docs/moving.md").read_text())
        task_id = await eval(f"manager.{named}", {"manager": broker.manager})
        refused = await module.send_statement.submit("nowhere")
        assert (await broker.manager.wait(task_id)).value == {"region": "eu", "copies": 1}
        assert (await refused.wait()).state == "rejected"
    assert "{'region': 'eu', 'copies': 1}\n" in capsys.readouterr().out


def imported(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of this text; it is forgotten at the end of the test."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module


@pytest.mark.anyio
async def test_the_cheat_sheet_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, submit, _ = blocks(ROOT / "docs/cheatsheet.md", "python")
    there: dict[str, Any] = {}
    with memory_broker(imported("agent", agent, monkeypatch).handlers):
        await eval(compile(submit, "submit.py", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), there)
    assert there["record"].value == 203


def test_the_test_of_the_cheat_sheet_passes(tmp_path: Path) -> None:
    agent, _, test = blocks(ROOT / "docs/cheatsheet.md", "python")
    [settings] = blocks(ROOT / "docs/cheatsheet.md", "toml")
    files = {"agent.py": agent, "supervisor.toml": settings, "test_agent.py": f"from agent import ship\n\n{test}"}
    report = run_tests(tmp_path, files)
    assert "1 passed" in report.out, report.out
