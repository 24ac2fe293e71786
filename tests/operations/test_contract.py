"""Only acts change a queue, and say who may: a face calls no changing method, and compares no role."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from holdfastd.operations.act import Act

FACES = Path(__file__).parents[2] / "supervisor/holdfastd"
OF_TASKS = (
    "cancel_task",
    "pause_task",
    "resume_task",
    "retry_task",
    "ask_retry",
    "remove_task",
    "clean_tasks",
    "purge_dead_letters",
)
OF_STORES = (
    "cancel",
    "pause",
    "resume",
    "retry",
    "forget_tasks",
    "purge_dead",
    "pause_lane",
    "resume_lane",
    "add",
    "message",
    "note",
    "forget_push",
    "set_webhook_of_task",
)  # of a name that is a store
OTHERS = (
    *("pause_queue", "resume_queue", "clear_queue", "obliterate_queue", "bound"),
    *("quiet_host", "resume_host", "halt_host", "end_halt"),
    *("seal_batch", "cancel_batch", "readmit", "forget_unreadable", "purge_unreadable", "notice_now", "notice_done"),
    *("write_stacks", "scale"),  # of the supervisor of this host
    *("begin_bulk", "stop_bulk", "resume_bulk", "note_activity"),
)
OF_SCHEDULES = ("put", "put_all", "remove", "run", "pause", "resume", "begin")
OF_SUBMITTERS = ("submit", "submit_one", "submit_drafts", "run", "run_task", "run_tasks", "send")
# They name the store's method that keeps the entry of a change; `AskedChange` calls it.
KEEPERS = {"cli/common/store_session.py", "web/queue/queue_access.py"}


def changes(file: Path) -> Iterator[str]:
    """The methods that change a queue, of those that a file calls or hands on."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Attribute):
            continue
        owner = ast.unparse(node.value)
        is_change = (
            node.attr in {*OF_TASKS, *OTHERS}
            or (owner.endswith("store") and node.attr in OF_STORES)
            or (owner.endswith("schedules") and node.attr in OF_SCHEDULES)
            or (owner.endswith(("manager", "submitter")) and node.attr in OF_SUBMITTERS)
        )
        if is_change and not (node.attr == "note_activity" and file.relative_to(FACES).as_posix() in KEEPERS):
            yield f"{file.relative_to(FACES)}:{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("face", ["cli", "web"])
def test_a_face_changes_nothing_by_itself(face: str) -> None:
    found = [each for file in sorted((FACES / face).rglob("*.py")) for each in changes(file)]
    assert found == []


# Two have the accounts and logins with their roles, the third prints the line of an account, the last asks the act.
OF_ROLES = {"web/access/accounts.py", "web/access/logins.py", "cli/web_commands.py", "web/access/forms.py"}


@pytest.mark.parametrize("face", ["cli", "web"])
def test_a_face_has_no_role_of_its_own(face: str) -> None:
    """Pages and the agent only ask `Visitor.may_change`, to hide buttons and to show secrets."""
    found = {
        file.relative_to(FACES).as_posix(): ast.unparse(node)
        for file in sorted((FACES / face).rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).split(".")[-1] in {"Role", "role", "roles"}
    }
    assert set(found) - OF_ROLES == set()


def acts() -> dict[str, Act[Any, Any]]:
    modules = [import_module(f"holdfastd.operations.{file.stem}") for file in (FACES / "operations").glob("[a-z]*.py")]
    return {name: each for module in modules for name, each in vars(module).items() if isinstance(each, Act)}


@pytest.mark.parametrize("name", sorted(acts()))
def test_each_act_is_tried_through_its_faces(name: str) -> None:
    """An act of the tables that no face has is not needed, and one that no test here names is not compared."""
    asked = [file for face in ("cli", "web") for file in (FACES / face).rglob("*.py") if name in names(file)]
    assert asked
    assert [file.name for file in Path(__file__).parent.glob("*.py") if name in names(file)]


def names(file: Path) -> set[str]:
    """The last parts of the names that a file uses."""
    nodes = ast.walk(ast.parse(file.read_text()))
    return {ast.unparse(node).rpartition(".")[2] for node in nodes if isinstance(node, ast.Name | ast.Attribute)}


def test_the_acts_do() -> None:
    found = {each.rpartition(".")[2] for file in (FACES / "operations").glob("*.py") for each in changes(file)}
    assert found >= set(OTHERS) | {"cancel_task", "pause_task", "resume_task", "ask_retry", "remove_task"}
