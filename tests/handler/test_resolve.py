"""The handler is found by the name that an operator gives, in real folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.errors import HandlerError
from holdfast.handler.named_handler import resolve


@pytest.fixture(autouse=True)
def imports_are_undone() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(lines) + "\n")


def refused(handler: str | None, folder: Path) -> HandlerError:
    with pytest.raises(HandlerError) as raised:
        resolve(handler, folder)
    return raised.value


def test_an_agent_in_the_folder_is_the_default(tmp_path: Path) -> None:
    write(tmp_path, "agent.py", "def handle(messages): return 1")
    handler = resolve(None, tmp_path)
    assert handler.target == "agent:handle"
    assert handler.default is not None
    assert handler.default.function.__module__ == "agent"


def test_without_any_handler_the_four_ways_are_named(tmp_path: Path) -> None:
    message = str(refused(None, tmp_path))
    for way in (
        "supervisor start agent:handlers",
        "HOLDFAST_HANDLER",
        "supervisor.toml",
        f"agent.py with a function handle in {tmp_path}",
    ):
        assert way in message


def test_a_handler_is_found_in_packages_and_attributes(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    write(tmp_path / "shop", "__init__.py")
    write(tmp_path / "shop", "work.py", "class Work:", "    def handle(self, messages): ...", "work = Work()")
    assert resolve("shop.work:work.handle", tmp_path).default is not None


def test_the_folder_comes_first_on_the_import_path(tmp_path: Path) -> None:
    write(tmp_path, "colorsys.py", "def handle(messages): ...")
    sys.modules.pop("colorsys", None)
    handler = resolve("colorsys:handle", tmp_path)
    assert handler.default is not None
    assert handler.default.function.__code__.co_filename == str(tmp_path / "colorsys.py")
    resolve("colorsys:handle", tmp_path)
    assert sys.path.count(str(tmp_path)) == 1


def test_a_registry_is_a_handler(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app.py",
        "from holdfast import Handlers",
        "handlers = Handlers()",
        "@handlers.register('bill')",
        "def bill(region): ...",
    )
    assert list(resolve("app:handlers", tmp_path).named) == ["bill"]


@pytest.mark.parametrize(
    ("target", "instead"),
    [
        ("wordcount", "wordcount:handle"),
        ("examples/wordcount.py", "examples.wordcount:handle"),
        ("./examples/wordcount.py:count", "examples.wordcount:count"),
        (":handle", "agent:handle"),
        ("a:b:c", "a:handle"),
        ("a b:c", "a.b:c"),
    ],
)
def test_a_name_in_another_form_is_corrected(target: str, instead: str, tmp_path: Path) -> None:
    assert str(refused(target, tmp_path)).endswith(f"write it as module:attribute, as in {instead}")


def test_a_module_that_is_not_there_is_named_with_the_folder(tmp_path: Path) -> None:
    for target in ("nowhere:handle", "nowhere.at.all:handle"):
        error = refused(target, tmp_path)
        assert str(error) == f"no module {target.partition(':')[0]} in {tmp_path}, and none is installed"
        assert not error.traceback


def test_an_attribute_that_is_not_there_is_named(tmp_path: Path) -> None:
    write(tmp_path, "app.py", "x = 1")
    assert str(refused("app:handle", tmp_path)) == (
        f"app:handle: the module was imported from {tmp_path / 'app.py'}, but it has no handle"
    )
    assert "app:x is int, not a function" in str(refused("app:x", tmp_path))


def test_a_module_without_that_attribute_is_named_with_its_registry(tmp_path: Path) -> None:
    write(tmp_path, "agent.py", "from holdfast import Handlers\njobs = Handlers()")
    assert str(refused("agent:handle", tmp_path)).endswith("agent.py, but it has no handle: name agent:jobs")


@pytest.mark.parametrize(
    ("lines", "message", "shown"),
    [
        (["def f():", "    raise ValueError('no key')", "f()"], "ValueError: no key", "raise ValueError('no key')"),
        (["import nowhere_either"], "No module named 'nowhere_either'", "import nowhere_either"),
        (["def handle(messages:"], "SyntaxError", "def handle(messages:"),
        (["raise SystemExit(3)"], "SystemExit: 3", "raise SystemExit(3)"),
        (
            ["from holdfast import Handlers", "h = Handlers()", "@h.register('a')", "def a(x, /): ..."],
            "positional-only",
            "@h.register('a')",
        ),
    ],
)
def test_an_import_that_fails_shows_the_users_lines_alone(
    lines: list[str], message: str, shown: str, tmp_path: Path
) -> None:
    write(tmp_path, "app.py", *lines)
    error = refused("app:handle", tmp_path)
    assert str(error).startswith("importing app")
    assert message in str(error)
    assert "\n" not in str(error)
    assert shown in error.traceback
    assert "importlib" not in error.traceback
    assert "holdfast/handler" not in error.traceback
