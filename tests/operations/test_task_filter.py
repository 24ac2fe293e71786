"""Each field of the filter of tasks is defined once: every face takes it, with the same meaning."""

from __future__ import annotations

import inspect
import json
import re

import click
import msgspec
import pytest

from holdfast import TaskManager
from holdfast.client.task_filter import AGES, TaskFilter, TaskListing, WantedTasks, listing_of
from holdfast.core.task_states import State
from holdfast.errors import InvalidTaskError
from holdfastd.cli.tasks.change_tasks import cancel, remove, retry
from holdfastd.cli.tasks.list_and_show import list_tasks
from holdfastd.operations.many_tasks import BEGIN_BULK
from holdfastd.operations.reading import description_of
from holdfastd.web.api import openapi
from holdfastd.web.rendering import TEMPLATES

MEANINGS = {each.name: description_of(each.type) for each in msgspec.structs.fields(TaskFilter)}
DOCUMENT = json.loads(openapi.document())


def test_each_field_has_a_meaning() -> None:
    assert all(MEANINGS.values())
    assert len(set(MEANINGS.values())) == len(MEANINGS)


@pytest.mark.parametrize("command", [list_tasks, cancel, retry, remove])
def test_each_field_is_an_option_of_the_command(command: click.Command) -> None:
    options = {each.name: each for each in command.params if isinstance(each, click.Option)}
    for name, meaning in MEANINGS.items():
        assert options[name].opts == [f"--{name}"]
        assert (options[name].help or "").startswith(meaning)
    assert "newest_first" in {each.name for each in list_tasks.params}


@pytest.mark.parametrize("path", ["/tasks", "/bulk/{verb}/count"])
def test_each_field_is_a_parameter_of_the_query(path: str) -> None:
    parameters = {each["name"]: each for each in DOCUMENT["paths"][path]["get"]["parameters"]}
    for name, meaning in MEANINGS.items():
        assert parameters[name]["description"] == meaning
        assert parameters[name]["schema"]["type"] == ("array" if name == "state" else "string")


def test_each_field_is_a_field_of_the_body_that_changes_many_tasks() -> None:
    fields = DOCUMENT["components"]["schemas"][BEGIN_BULK.arguments.__name__]["properties"]
    assert {name: fields[name]["description"] for name in MEANINGS} == MEANINGS


def test_each_field_is_a_field_of_the_form() -> None:
    form = (TEMPLATES / "tasks.html").read_text().split("</form>")[0]
    assert set(re.findall(r'name="(\w+)"', form)) == {*MEANINGS, "columns"}, "the form keeps the chosen columns"


def test_each_field_is_a_keyword_of_the_library() -> None:
    renamed = {f"{name}_than" if name in AGES else name for name in TaskListing.__struct_fields__}
    assert set(WantedTasks.__annotations__) == renamed - {"state", "text"}
    assert {"state", "text"} <= inspect.signature(TaskManager.search_tasks).parameters.keys()


def test_the_store_gets_each_field_but_the_text() -> None:
    given = TaskFilter(
        state=[State.FAILED], lane="q:mail", name="n", text="t", batch="b", owner="o" * 32, older="5m", newer=3600
    )
    wanted = given.wanted(newest_first=True)
    assert (wanted.states, wanted.lane, wanted.name, wanted.batch) == ((State.FAILED,), "q:mail", "n", "b")
    assert (wanted.owner, wanted.older_ms, wanted.newer_ms, wanted.newest_first) == ("o" * 32, 300_000, 3_600_000, True)


def test_an_address_with_the_filter_is_read_back_as_the_same() -> None:
    given = TaskFilter(state=[State.FAILED, State.DELAYED], name="a&b", older=90.0, newer="1h")
    assert given.query == "state=failed&state=delayed&name=a%26b&older=90s&newer=1h"
    assert TaskFilter().query == ""


def test_a_keyword_that_is_not_known_or_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        listing_of([], colour="red")
    with pytest.raises(InvalidTaskError, match="older_than '5m'"):
        listing_of([], older_than="5m")  # type: ignore[arg-type]
