"""The ids of the tasks of fires: no two schedules make the same, and each is a task id with room for its retries."""

from __future__ import annotations

from itertools import combinations, product

from holdfast.core.identity import is_task_id
from holdfast.core.schedule_records import fire_id

AT = 1_798_765_200_000
LETTERS = "a.:@-"
IDS = ["".join(letters) for length in (1, 2, 3) for letters in product(LETTERS, repeat=length)]


def test_no_two_schedules_make_one_task_id() -> None:
    assert all(fire_id(each, AT) != fire_id(other, AT) for each, other in combinations(IDS, 2))


def test_no_digest_is_the_name_of_another_schedule() -> None:
    name = fire_id("a:b", AT).rpartition("@")[0]
    assert fire_id(name, AT) != fire_id("a:b", AT)
    assert fire_id(name.removeprefix("@"), AT) != fire_id("a:b", AT)
    assert fire_id(f":{name.removeprefix('@')}", AT) != fire_id("a:b", AT)


def test_each_is_a_task_id_with_room_for_retries() -> None:
    for schedule_id in (*IDS, "a" * 90, "a:" * 45, "a" * 1000, "ä b"):
        assert is_task_id(f"{fire_id(schedule_id, AT + 1)}.r99")


def test_plain_id_can_be_read_in_it() -> None:
    assert fire_id("nightly.2-b", AT) == "nightly.2-b@20270101T010000Z"
    assert fire_id("nightly", AT + 5) == "nightly@20270101T010000.005Z"
