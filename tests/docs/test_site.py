"""The site of `make docs`: its pages, its reference, and the check of what was built."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from docs.tools.diagrams import BLOCK, with_pictures, without_picture
from docs.tools.site_check import problems
from docs.tools.site_pages import lay_out
from holdfast import Task

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
NAMED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
OTHER_HOST = "https://cdn.example.com"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    lay_out(folder)
    return folder


def test_each_link_of_the_site_leads_to_a_page_of_it(pages: Path) -> None:
    dead = {
        f"{page.relative_to(pages)}: {target}"
        for page in pages.rglob("*.md")
        for target in LINK.findall(re.sub(r"^(`{3,}).*?^\1", "", page.read_text(), flags=re.MULTILINE | re.DOTALL))
        if "://" not in target and not (page.parent / target).exists()
    }
    assert dead == set()


def test_a_file_that_a_page_links_to_is_a_page_of_the_site(pages: Path) -> None:
    assert "](files/config/redis.conf.md)" in (pages / "stores.md").read_text() + (pages / "systemd.md").read_text()
    assert "maxmemory-policy noeviction" in (pages / "files/config/redis.conf.md").read_text()


def test_all_commands_are_in_the_reference_with_their_options(pages: Path) -> None:
    text = (pages / "commands.md").read_text()
    assert "\n### supervisor tasks list\n" in text
    assert "| `--newer` `DURATION` |" in text


def test_examples_of_a_command_are_a_block_that_can_be_copied(pages: Path) -> None:
    text = (pages / "commands.md").read_text()
    assert "```console\n$ supervisor tasks list --state failed --newer 1h\n" in text


def test_a_bar_in_code_within_a_table_has_no_backslash_on_the_site(pages: Path) -> None:
    assert "`supervisor control HALT\\|RESUME`" in (ROOT / "docs/commands.md").read_text()
    assert "`supervisor control HALT|RESUME`" in (pages / "commands.md").read_text()


def test_what_is_only_for_readers_of_the_files_is_left_out(pages: Path) -> None:
    assert "begins with `:::`" in (ROOT / "docs/reference.md").read_text()
    assert "begins with `:::`" not in (pages / "reference.md").read_text()


def test_a_diagram_that_was_drawn_is_a_picture() -> None:
    [drawn, *_] = BLOCK.findall((ROOT / "docs/concepts.md").read_text())
    assert "<picture>" in with_pictures(f"```mermaid\n{drawn}```")
    assert with_pictures("```mermaid\nflowchart TD\n```") == "```text\nflowchart TD\n```"


def test_each_diagram_of_a_page_was_drawn() -> None:
    undrawn = [page.name for page in ROOT.glob("docs/*.md") if without_picture(page.read_text())]
    assert undrawn == [], "make diagrams"


def test_pictures_of_the_site_name_no_other_host(pages: Path) -> None:
    assert "@font-face" in (ROOT / "docs/demo.svg").read_text()
    assert [picture.name for picture in pages.rglob("*.svg") if "@font-face" in picture.read_text()] == []


def test_the_reference_names_what_exists() -> None:
    named = NAMED.findall((ROOT / "docs/reference.md").read_text())
    assert [name for name in named if not exists(name)] == []


def test_the_reference_of_a_task_has_the_names_that_handlers_use() -> None:
    table = re.search(r"^\| `task\.` .*?\n\n", (ROOT / "docs/handlers.md").read_text(), re.MULTILINE | re.DOTALL)
    assert table
    [left_out] = re.findall(r"holdfast\.Task\n.*?!\^\((.*?)\)\$", (ROOT / "docs/reference.md").read_text())
    shown = {name for name in {*vars(Task), *Task.__annotations__} if name[0] != "_"} - {*left_out.split("|")}
    named = {name for row in table[0].splitlines() for name in re.findall(r"`(\w+)[(`]", row.split(" | ")[0])}
    assert shown - named == set()


def test_a_signature_of_the_reference_is_whole() -> None:
    griffe = pytest.importorskip("griffe", reason="pip install '.[docs]'")
    extensions = griffe.load_extensions(ROOT / "docs/tools/whole_signatures.py")
    package = griffe.load("holdfast", search_paths=[ROOT / "workers"], extensions=extensions)
    run_task = package["client.manager.TaskManager.run_task"]
    assert {"text", "name", "lane", "key"} <= {each.name for each in run_task.parameters}
    list_tasks = package["client.query.TaskQueries.list_tasks"]
    assert list_tasks.parameters["older_than"].annotation == "float | None"
    assert "args" in {each.name for each in package["handler.registered_handler.RegisteredHandler.submit"].parameters}


def exists(name: str) -> bool:
    home, _, last = name.rpartition(".")
    if home.startswith("holdfast.bindu"):  # cannot be imported where the framework is not
        return f"def {last}(" in (ROOT / "workers" / f"{home.replace('.', '/')}.py").read_text()
    return last in {*vars(import_module(home)), *dir(import_module(home))}


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<script src="{other}/x.js"></script>', "loads {other}/x.js from another host"),
        ('<link rel="stylesheet" href="{other}/x.css">', "loads {other}/x.css from another host"),
        ('<picture><source srcset="{other}/x.png"></picture>', "loads {other}/x.png from another host"),
        ('<a href="gone.html">x</a>', "nothing at gone.html"),
        ('<a href="other.html#gone">x</a>', "nothing at other.html#gone"),
        ('<a href="#gone">x</a>', "nothing at #gone"),
        ('<pre class="mermaid">x</pre>', "a script from another host"),
    ],
)
def test_what_is_wrong_in_a_page_is_noticed(page: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    (tmp_path / "page.html").write_text(page.format(other=OTHER_HOST))
    [found] = problems(tmp_path)
    assert problem.format(other=OTHER_HOST) in found


def test_a_style_that_loads_from_another_host_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "x.css").write_text(f"@font-face {{ src: url({OTHER_HOST}/x.woff2) }}")
    assert list(problems(tmp_path)) == [f"x.css loads {OTHER_HOST}/x.woff2 from another host"]


def test_links_that_lead_somewhere_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    links = "".join(f'<a href="{to}">x</a>' for to in ("other.html#there", "./other.html", OTHER_HOST, "mailto:a@b"))
    (tmp_path / "page.html").write_text(links)
    assert list(problems(tmp_path)) == []
