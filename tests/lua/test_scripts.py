"""The Lua files: found by name, put together without what a script does not mention, and true to their headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import holdfast.store
from holdfast.store.redis import scripts
from holdfast.store.redis.keys import KEY_NAMES
from tests.lua.bytecode import Names, names
from tests.lua.mutants import MUTANTS, USUAL

FOLDER = Path(holdfast.store.__file__).parent / "lua"
BEFORE = (
    "guard",
    "once",
    "followed",
    "requested",
    "fast_pull",
    "fast_submit",
)  # put before operations; each answers in their place
WITHOUT_SCRIPT = {"activity", "bulk_change", "bulk_changes", "depths", "web_sessions"}  # keys of single commands
FOR_THEIR_EFFECT = {"once": {"guard"}}  # used though no name of it is
BY_THE_LOADER = {"carry_out"}
SERVER = frozenset(
    [
        "KEYS",
        "ARGV",
        "assert",
        "cjson",
        "cmsgpack",
        "error",
        "ipairs",
        "math",
        "next",
        "pairs",
        "pcall",
        "redis",
        "select",
        "string",
        "table",
        "tonumber",
        "tostring",
        "type",
        "unpack",
    ]
)


def header(name: str, line: str) -> list[str]:
    return [
        word for found in re.findall(rf"^-- {line}: (.*)$", scripts.text(name), re.MULTILINE) for word in found.split()
    ]


FILES: dict[str, Names] = {name: names(scripts.text(name)) for name in (*scripts.operations(), *scripts.shared_parts())}
OWNERS = {local: part for part in scripts.shared_parts() if part not in BEFORE for local in FILES[part].defined}


def users(name: str) -> set[str]:
    return {each for each, file in FILES.items() if name in file.read}


def test_no_two_lua_files_have_one_name_and_each_is_found_by_its_name() -> None:
    found = sorted(file.stem for file in FOLDER.rglob("*.lua"))
    assert found == sorted([*scripts.operations(), *scripts.shared_parts()])
    assert len(found) == len(set(found))


def test_an_operation_is_in_the_folder_of_its_subject() -> None:
    assert {file.parent.name for file in FOLDER.rglob("*.lua")} == {
        "batch", "conversation", "host", "inspect", "lane", "ledger", "queue", "schedule", "shared", "task", "webhook",
        "worker",
    }  # fmt: skip
    assert {file.parent.parent for file in FOLDER.rglob("*.lua")} == {FOLDER}


@pytest.mark.parametrize("name", ["pull", "clock"])
def test_a_script_is_replaced_by_its_name(name: str) -> None:
    other = scripts.text(name) + "\nredis.log(3, 'another version')\n" * (name == "clock")
    other = other.replace("return {'UNKNOWN'", "return {'another version'")
    assert b"another version" in scripts.build("pull", {name: other}).source


def test_no_two_shared_parts_define_one_name() -> None:
    parts = [part for part in scripts.shared_parts() if part not in BEFORE]
    assert sum(len(FILES[part].defined) for part in parts) == len(OWNERS)


@pytest.mark.parametrize("part", scripts.shared_parts())
def test_a_shared_part_provides_the_names_that_others_use(part: str) -> None:
    used = {name for name in FILES[part].defined if users(name) and part not in BEFORE}
    provided = header(part, "provides")
    assert len(provided) == len(set(provided))
    assert set(provided) == used | (FILES[part].defined & BY_THE_LOADER)


@pytest.mark.parametrize("name", FILES)
def test_a_file_uses_the_parts_that_it_names_and_no_others(name: str) -> None:
    needed = {OWNERS[read] for read in FILES[name].read if read in OWNERS} - {"base"} | FOR_THEIR_EFFECT.get(
        name, set()
    )
    assert set(header(name, "use")) == needed
    assert len(header(name, "use")) == len(needed)


@pytest.mark.parametrize("name", FILES)
def test_no_file_sets_a_name_that_it_does_not_define(name: str) -> None:
    assert not FILES[name].set


def test_names_of_keys_are_spelled_in_one_table() -> None:
    text = "\n".join(scripts.text(name) for name in FILES)
    assert set(re.findall(r"\b(?:KEY|NAME)\.(\w+)", text)) | WITHOUT_SCRIPT == KEY_NAMES.keys()
    assert not re.findall(r"\bT \.\. '.*", text)
    assert len(set(KEY_NAMES.values())) == len(KEY_NAMES)


def test_a_name_that_the_table_lacks_makes_no_script() -> None:
    with pytest.raises(KeyError, match="nothing"):
        scripts.build("vouch", {"vouch": "return KEY.nothing"})


@pytest.mark.parametrize("before", ["", *BEFORE])
def test_every_script_knows_the_names_that_it_mentions(before: str) -> None:
    for operation in scripts.operations():
        built = compiled(scripts.build(operation, before=before))
        assert not built.read - SERVER, operation
        assert not built.set, operation


@pytest.mark.parametrize("operation", scripts.operations())
def test_a_script_has_no_function_that_it_does_not_mention(operation: str) -> None:
    text = scripts.build(operation).source.decode()
    functions = re.findall(r"^local function (\w+)", text, re.MULTILINE)
    assert not [name for name in functions if len(re.findall(rf"\b{name}\b", text)) == 1]


def compiled(script: scripts.Script) -> Names:
    return names(script.source.decode().partition("\n")[2])


def test_what_a_mutant_replaces_stands_once_in_its_script() -> None:
    for mutant in (*MUTANTS, *USUAL):
        assert mutant.replaced
