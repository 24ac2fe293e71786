"""The examples, on real input."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from examples import agent, primes, wordcount
from holdfast.core.outcomes import Completed, Rejected
from holdfast.handler.resolve import resolve
from holdfast.handler.task import Task
from tests.worker.handlers import delivery_of, document, run_handler

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
LICENCES = Path("/usr/share/common-licenses")
TEXTS = sorted(path for path in (LICENCES if LICENCES.is_dir() else ROOT / "workers").rglob("*") if path.is_file())


async def count(text: str) -> dict[str, Any]:
    outcome = await run_handler(wordcount.handle, delivery_of(text))
    assert isinstance(outcome, Completed), outcome
    counted = document(outcome)["parts"][0]["data"]
    assert isinstance(counted, dict)
    return counted


def content_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
async def test_wordcount_counts_the_lines_and_words_of_a_file(path: Path) -> None:
    counted = await count(str(path))
    text = content_of(path)
    assert counted["lines"] == text.count("\n") + (text != "" and not text.endswith("\n"))
    plain = Counter("".join(letter.lower() if letter.isalnum() else " " for letter in text).split())
    assert 0.9 * plain.total() <= counted["words"] <= plain.total()
    if "the" in dict(counted["common"]):
        assert dict(counted["common"])["the"] == plain["the"]


async def test_wordcount_counts_the_text_where_there_is_no_such_file() -> None:
    assert await count("To be, or not to be:\nthat's the question") == {
        "lines": 2,
        "words": 9,
        "common": [["be", 2], ["to", 2], ["not", 1], ["or", 1], ["question", 1], ["that's", 1], ["the", 1]],
    }


@pytest.mark.parametrize("text", ["a\0b", "/", "x" * 100_000, "./" * 3000, "größe/\n"])
async def test_wordcount_takes_what_is_no_file_name_as_text(text: str) -> None:
    assert (await count(text))["words"] <= 2 or text == "x" * 100_000


async def test_wordcount_counts_any_bytes(tmp_path: Path) -> None:
    file = tmp_path / "bytes"
    file.write_bytes(bytes(range(256)) * 50 + b"\nword word\r\nword")
    counted = await count(str(file))
    assert ["word", 3] in counted["common"]
    (tmp_path / "empty").touch()
    assert await count(str(tmp_path / "empty")) == {"lines": 0, "words": 0, "common": []}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_wordcount_rejects_a_file_it_may_not_read(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0o000)
    outcome = await run_handler(wordcount.handle, delivery_of(str(file)))
    assert isinstance(outcome, Rejected)


async def test_wordcount_rejects_a_message_without_text() -> None:
    for parts in ([], [{"kind": "data", "data": 1}]):
        outcome = await run_handler(wordcount.handle, delivery_of(parts))
        assert isinstance(outcome, Rejected)


async def test_wordcount_shows_progress_and_stops_when_cancelled() -> None:
    delivery = delivery_of("line\n" * 5000)
    task = Task(delivery)
    assert isinstance(await run_handler(wordcount.handle, delivery, task=task), Completed)
    assert task.notes.progress == "5000"
    stopped = Task(delivery)
    stopped.notes.cancelled = True
    await run_handler(wordcount.handle, delivery, task=stopped)
    assert stopped.notes.progress == "1000"


@pytest.mark.parametrize(
    ("limit", "count", "largest"), [("2", 1, 2), ("3", 2, 3), ("100", 25, 97), ("1000000", 78498, 999983)]
)
async def test_primes_are_counted(limit: str, count: int, largest: int) -> None:
    result = document(await run_handler(primes.handle, delivery_of(limit)))
    assert result["parts"][0]["data"] == {"limit": int(limit), "primes": count, "largest": largest}


@pytest.mark.parametrize("text", ["1", "-5", "many", "20000001", "9" * 5000, ""])
async def test_primes_rejects_what_it_cannot_count_to(text: str) -> None:
    assert isinstance(await run_handler(primes.handle, delivery_of(text)), Rejected)


async def test_the_agent_answers() -> None:
    assert document(await run_handler(agent.handle))["parts"][0]["text"] == "You said hello"


@pytest.mark.parametrize("name", ["agent", "primes", "wordcount"])
def test_each_example_resolves_as_its_docstring_says(name: str) -> None:
    assert resolve(f"examples.{name}:handle", ROOT).default is not None
