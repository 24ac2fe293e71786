"""The documentation says what is: links lead somewhere, commands and flags exist, tables are up to date."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import holdfast
import holdfast.errors
import holdfast.timeline
from holdfast.exits import Exit
from holdfastd.cli.command_table import LazyCommand, cli
from tests.docs import log_events, metric_tables, settings_table

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
CODE = re.compile(r"`(supervisor [^`]+)`")
TYPED = re.compile(r"^(?:\$ )?((?:sudo )?(?:\S*/)?supervisor .*)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_to_a_file_leads_there(page: Path) -> None:
    targets = [target for target, _ in LINK.findall(page.read_text()) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def anchors(page: Path) -> set[str]:
    """The anchors of a page: its headings, as they are spelled in an address."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_to_a_heading_leads_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text())
    pages = {target: (page.parent / target if target else page) for target, _ in links if "://" not in target}
    assert [
        f"{t}#{a}" for t, a in links if t in pages and pages[t].suffix == ".md" and a not in anchors(pages[t])
    ] == []


def written(page: Path) -> list[str]:
    """Command lines of a page: in blocks, and in running text."""
    text = page.read_text()
    typed = [line for block in FENCE.findall(text) for line in TYPED.findall(block)]
    return sorted({*typed, *CODE.findall(FENCE.sub("", text))})


def unknown(line: str) -> str:
    """The first word of a command line that does not exist; empty if all do."""
    words = shlex.split(line[line.index("supervisor ") :].replace("\\|", "|").replace("…", ""), comments=True)[1:]
    command: click.Command = cli
    for word in words:
        if word.startswith("-"):
            flag = word.partition("=")[0]
            known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
            if flag not in known | {"-", "--help", "-h"}:
                return word
        elif isinstance(command, click.Group):
            inner = [command.commands.get(part) for part in word.split("|")]
            if None in inner and not word.isupper():
                return word
            found = inner[0]
            command = found.load() if isinstance(found, LazyCommand) else found or command
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_and_flag_that_is_mentioned_exists(page: Path) -> None:
    assert {line: word for line in written(page) if (word := unknown(line))} == {}


def test_an_unknown_command_or_flag_would_be_noticed() -> None:
    assert unknown("supervisor strat") == "strat"
    assert unknown("supervisor start --worker 3") == "--worker"
    assert unknown("supervisor tasks list|shwo") == "list|shwo"


def test_the_table_of_settings_is_up_to_date() -> None:
    """python -m tests.docs.settings_table docs/settings.md"""
    page = (ROOT / "docs/settings.md").read_text()
    assert page == settings_table.renewed(page)


def test_the_tables_of_metrics_are_up_to_date() -> None:
    """python -m tests.docs.metric_tables docs/telemetry.md"""
    page = (ROOT / "docs/telemetry.md").read_text()
    assert page == metric_tables.renewed(page)


def test_the_tables_of_log_lines_are_up_to_date() -> None:
    """python -m tests.docs.log_events docs/logs.md; a new field needs its meaning in config/log.schema.json."""
    page = (ROOT / "docs/logs.md").read_text()
    assert page == log_events.renewed(page)


def test_each_field_of_the_log_is_in_its_schema() -> None:
    fields = {field for event in log_events.events() for field in event.fields}
    assert fields | set(log_events.schema()["required"]) == set(log_events.schema()["properties"])


def test_exit_statuses_are_told_with_their_meanings() -> None:
    told = [str(cli.epilog), (ROOT / "docs/commands.md").read_text()]
    assert [Exit.listed() in " ".join(text.split()) for text in told] == [True, True]
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", (ROOT / "docs/operating.md").read_text(), re.MULTILINE)
    assert rows == [(str(status.value), status.meaning) for status in Exit]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text()
    assert [
        page.name for page in ROOT.glob("docs/*.md") if page.name != "README.md" and f"({page.name})" not in index
    ] == []


def test_the_change_log_says_what_the_first_release_is_with_a_page_for_each_area() -> None:
    said = (ROOT / "CHANGELOG.md").read_text().partition("\n## 0.1.0")[2]
    areas = re.findall(r"^- .*(?:\n  .*)*", said, re.MULTILINE)
    assert [area for area in areas if not area.startswith("- **") or "](docs/" not in area] == []


REFERENCE = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_test_that_is_named_exists(page: Path) -> None:
    named = set(REFERENCE.findall(page.read_text()))
    missing = {file for file, _ in named if not (ROOT / file).exists()}
    missing |= {
        f"{file}::{test}"
        for file, test in named
        if test and file not in missing and f"def {test}(" not in (ROOT / file).read_text()
    }
    assert missing == set()


def entries(nav: Any) -> Iterator[str]:
    """The pages that a part of the navigation leads to."""
    match nav:
        case str():
            yield nav
        case list():
            yield from (page for each in nav for page in entries(each))
        case dict():
            yield from (page for each in nav.values() for page in entries(each))


def test_each_page_is_in_the_navigation_of_the_site_once() -> None:
    nav = list(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert sorted(nav) == sorted([*(page.name for page in ROOT.glob("docs/*.md")), "changes.md"])


def test_the_reference_has_each_public_name() -> None:
    named = set(re.findall(r"^::: ([\w.]+)$", (ROOT / "docs/reference.md").read_text(), re.MULTILINE))
    public = {f"{module.__name__}.{name}" for module in (holdfast, holdfast.timeline) for name in module.__all__}
    errors = {f"holdfast.{name}" for name in vars(holdfast.errors)}  # the reference has all of that module
    assert public - named - errors == set(), "docs/reference.md needs a line `::: NAME`"
