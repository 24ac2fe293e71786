"""The page of begun tasks: what is read from it is what had begun, at whatever byte its writer has died."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from holdfast.core.begun_page import HEADER, REVOKED, RUNS, BegunTasks, blank, read, revoked

BOOT = "3f1e7a52-6f0b-4f4b-9d4c-0c5f8a1d2e3f"
LONGEST = "i" * 128
FIRST, SECOND = f"1:{'w' * 32}:7", f"2:{'w' * 32}:8"
LONGEST_CLAIM = f"{2**64}:{'w' * 32}:{2**64}"


class Killed(BaseException):
    """Its writer has died."""


@dataclass
class Page:
    """Memory whose writer dies after so many bytes; what it had written stays."""

    memory: bytearray
    bytes_left: int

    def __len__(self) -> int:
        return len(self.memory)

    def __getitem__(self, at: slice) -> bytearray:
        return self.memory[at]

    def __setitem__(self, at: int | slice, content: int | bytes) -> None:
        places = range(len(self))[at] if isinstance(at, slice) else (at,)
        for place, byte in zip(places, content if isinstance(content, bytes) else (content,), strict=True):
            if not self.bytes_left:
                raise Killed
            self.bytes_left -= 1
            self.memory[place] = byte


def page(entries: int = 2) -> bytearray:
    return bytearray(blank(entries, BOOT))


def test_what_was_begun_and_not_removed_is_read() -> None:
    memory = page()
    begun = BegunTasks(memory)
    for task_id in ("a", LONGEST):
        begun.add(task_id)
    assert read(bytes(memory), BOOT) == {"a": RUNS, LONGEST: RUNS}
    begun.remove("a")
    begun.add("b")
    assert read(bytes(memory), BOOT) == {"b": RUNS, LONGEST: RUNS}


def test_a_task_is_noted_once_and_may_be_removed_twice() -> None:
    memory = page()
    begun = BegunTasks(memory)
    for _ in range(5):
        begun.add("a")
    begun.add("b")
    begun.remove("a")
    begun.remove("a")
    assert read(bytes(memory), BOOT) == {"b": RUNS}


def test_what_is_hidden_is_read_once_it_is_added_again() -> None:
    memory = page()
    begun = BegunTasks(memory)
    begun.add("a")
    begun.hide("a")
    assert read(bytes(memory), BOOT) == {}
    begun.add("a")
    assert read(bytes(memory), BOOT) == {"a": RUNS}
    begun.hide("a")
    begun.end("a", FIRST)  # given back as not begun
    assert read(bytes(memory), BOOT) == {}
    begun.settle("a", FIRST)
    begun.add("b")
    assert read(bytes(memory), BOOT) == {"b": RUNS}


def test_what_has_ended_is_noted_under_the_claim_of_its_outcome_until_the_store_has_that() -> None:
    memory = page(1)
    begun = BegunTasks(memory)
    begun.add("a")
    begun.end("a", LONGEST_CLAIM)
    assert read(bytes(memory), BOOT) == {"a": LONGEST_CLAIM}
    begun.settle("a", FIRST)  # an outcome of an earlier claim
    assert read(bytes(memory), BOOT) == {"a": LONGEST_CLAIM}
    begun.settle("a", LONGEST_CLAIM)
    assert read(bytes(memory), BOOT) == {}
    begun.add("b")
    assert read(bytes(memory), BOOT) == {"b": RUNS}


def test_a_task_that_begins_again_before_its_outcome_is_settled_runs() -> None:
    memory = page()
    begun = BegunTasks(memory)
    begun.add("a")
    begun.end("a", FIRST)
    begun.add("a")
    assert read(bytes(memory), BOOT) == {"a": RUNS}
    begun.settle("a", FIRST)
    assert read(bytes(memory), BOOT) == {"a": RUNS}
    begun.end("a", SECOND)
    begun.settle("a", FIRST)
    assert read(bytes(memory), BOOT) == {"a": SECOND}


def test_a_writer_that_dies_as_it_notes_an_end_leaves_a_task_that_runs_or_has_ended() -> None:
    """The entry had another claim before, and a longer one."""
    for survives in range(len(FIRST) + 3):
        memory = page(1)
        earlier = BegunTasks(memory)
        earlier.add("a")
        earlier.end("a", LONGEST_CLAIM)
        earlier.settle("a", LONGEST_CLAIM)
        earlier.add("b")
        writer = BegunTasks(Page(memory, survives))
        writer._places["b"] = HEADER
        try:
            writer.end("b", FIRST)
        except Killed:
            assert read(bytes(memory), BOOT) == {"b": RUNS}
        assert (survives > len(FIRST)) == (read(bytes(memory), BOOT) == {"b": FIRST})


def test_a_writer_that_dies_amid_a_note_has_noted_all_of_it_or_nothing() -> None:
    """The entry was another task's before, and a longer one's."""
    for survives in range(4):
        memory = page(1)
        earlier = BegunTasks(memory)
        earlier.add("a-long-one")
        earlier.remove("a-long-one")
        try:
            BegunTasks(Page(memory, survives)).add("new")
        except Killed:
            assert read(bytes(memory), BOOT) == {}
        assert (survives > len("new")) == (read(bytes(memory), BOOT) == {"new": RUNS})


def test_a_page_that_is_too_small_is_not_believed() -> None:
    memory = page(1)
    begun = BegunTasks(memory)
    begun.add("a")
    begun.add("b")
    begun.remove("b")
    assert read(bytes(memory), BOOT) is None


@pytest.mark.parametrize("content", [b"", b"begun", blank(1, "another boot"), b"begun 2\n" + blank(1, BOOT)[8:]])
def test_what_is_no_page_of_this_boot_tells_nothing(content: bytes) -> None:
    assert read(content, BOOT) is None


def test_without_a_page_nothing_is_noted() -> None:
    begun = BegunTasks()
    begun.add("a")
    begun.end("a", FIRST)
    begun.settle("a", FIRST)
    begun.remove("a")
    assert len(begun.page) == 0


def test_claims_up_to_the_revoked_request_are_revoked() -> None:
    memory = page()
    begun = BegunTasks(memory)
    assert not begun.is_revoked("1:w:1")
    memory[REVOKED:HEADER] = revoked(300)
    verdicts = [begun.is_revoked(f"2:w:{request}") for request in (1, 299, 300, 301, 1000)]
    assert verdicts == [True, True, True, False, False]
    begun.add("a")
    assert read(bytes(memory), BOOT) == {"a": RUNS}


def test_without_a_page_nothing_is_revoked() -> None:
    assert not BegunTasks().is_revoked("1:w:1")
