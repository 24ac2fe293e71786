"""The Lua files: each operation and each shared part is found by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast.store
from holdfast.store.redis import scripts

FOLDER = Path(holdfast.store.__file__).parent / "lua"


def test_no_two_lua_files_have_one_name_and_each_is_found_by_its_name() -> None:
    names = sorted(file.stem for file in FOLDER.rglob("*.lua"))
    assert names == sorted([*scripts.operations(), *scripts.shared_parts()])
    assert len(names) == len(set(names))


def test_an_operation_is_in_the_folder_of_its_subject() -> None:
    assert {file.parent.name for file in FOLDER.rglob("*.lua")} == {
        "conversation", "host", "inspect", "lane", "ledger", "queue", "schedule", "shared", "task", "webhook", "worker",
    }  # fmt: skip
    assert {file.parent.parent for file in FOLDER.rglob("*.lua")} == {FOLDER}


@pytest.mark.parametrize("name", ["pull", "task_record"])
def test_a_script_is_replaced_by_its_name(name: str) -> None:
    other = scripts.text(name) + "local VERSION = 2\n"
    assert b"VERSION" in scripts.build("pull", {name: other}).source
