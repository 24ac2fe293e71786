"""docs/notebook.md: its cells, run as Jupyter runs them, in an event loop that never ends in the main thread."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.tasks import Page, TaskRecord
from tests.cli.conftest import running

ROOT = Path(__file__).parents[2]
CELL = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
AGENT = """
from holdfast import Handlers

handlers = Handlers()

@handlers.register("greet")
async def greet(name: str) -> str:
    return f"Hello, {name}!"
"""


@pytest.fixture
def project(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with agent.py, and a supervisor that runs there."""
    (short_path / "agent.py").write_text(AGENT)
    monkeypatch.chdir(short_path)
    monkeypatch.syspath_prepend(str(short_path))
    monkeypatch.setenv("HOLDFAST_RUNTIME_DIR", str(short_path / "run"))
    monkeypatch.setenv("HOLDFAST_STATE_DIR", str(short_path / "state"))
    with running(short_path, "agent:handlers"):
        yield short_path
    sys.modules.pop("agent", None)


async def run_cell(text: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, if that is an expression."""
    tree = ast.parse(text)
    if isinstance(last := tree.body[-1], ast.Expr):
        tree.body[-1] = ast.fix_missing_locations(ast.Assign([ast.Name("_", ast.Store())], last.value, lineno=1))
    code = compile(tree, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    answer = eval(code, names)
    if inspect.iscoroutine(answer):
        await answer
    return names.pop("_", None)


def test_the_cells_of_the_page_run_beside_a_running_event_loop(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = CELL.findall((ROOT / "docs/notebook.md").read_text())
    names: dict[str, Any] = {}

    async def notebook() -> list[Any]:
        shown = [await run_cell(cell, names) for cell in cells]
        shown.append(await run_cell("(await (await greet.submit('async')).wait(60)).value", names))
        names["manager"].close()
        return shown

    record, value, *_, by_await = asyncio.run(notebook())
    assert "Hello, Ada!" in record._repr_html_()
    assert (value, by_await) == ("Hello, Ada!", "Hello, async!")
    printed = capsys.readouterr().out
    assert all(f"Hello, {name}!" in printed for name in ("Ada", "Grace", "Edsger"))
    assert printed.splitlines()[-1] == "42"


def record(**given: Any) -> TaskRecord:
    usual = dict.fromkeys((name for name, field in TaskRecord.__dataclass_fields__.items()), "")
    numbers = dict.fromkeys(("turn", "created_ms", "deliveries", "attempts", "crashes", "releases", "runs"), 1)
    others = {"read": None, "result": None, "operation": None, "checkpoint": None, "finished_ms": None, "due_ms": None}
    return TaskRecord(**{**usual, **numbers, **others, **given})


def test_what_a_task_says_is_text_in_a_notebook_never_html() -> None:
    evil = "<script>alert(1)</script>"
    result = b'{"state":"completed","parts":[{"kind":"text","text":"<script>alert(1)</script>"}]}'
    shown = record(task_id=evil, name=evil, result=result)
    for html in (shown._repr_html_(), Page((shown,), "more")._repr_html_()):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
    assert "cursor=page.cursor" in Page((shown,), "more")._repr_html_()


def test_a_large_value_is_cut() -> None:
    result = b'{"state":"completed","parts":[{"kind":"text","text":"' + b"x" * 100_000 + b'"}]}'
    assert len(record(result=result)._repr_html_()) < 4000
