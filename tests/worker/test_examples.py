"""The examples, on real input."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from examples import agent, lookup, primes, reminder, search, tally, wordcount
from holdfast import TaskManager, create_broker
from holdfast.core.outcomes import Completed, InputAsked, Outcome, Rejected
from holdfast.handler.named_handler import resolve
from holdfast.handler.task import Task
from holdfast_config.kill_spec import Point
from tests.faults.process import PATIENCE
from tests.faults.scene import LONG_DRAIN, Scene, stage
from tests.faults.work import QUEUE
from tests.handler.deliveries import delivery_of, document, run_handler
from tests.handler.programs import program
from tests.users import bound_by_modes

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "examples" / "wordcount.sh")
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


async def test_wordcount_rejects_a_file_it_may_not_read(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(mode=0o000)
    with bound_by_modes():
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


async def ask(*said: str) -> Outcome:
    """The last turn of a conversation with `search`, whose earlier turns are made first."""
    history: list[bytes] = []
    for turn, text in enumerate(said, start=1):
        delivery = delivery_of(text, turn=turn, history=tuple(history))
        outcome = await run_handler(search.handle, delivery)
        history += [delivery.operation, getattr(outcome, "result", b"")]
    return outcome


async def test_search_asks_until_its_question_is_answered(tmp_path: Path) -> None:
    file = tmp_path / "poem"
    file.write_text("a rose\n  is a rose\nis it\n")
    asked = await ask(str(file))
    assert isinstance(asked, InputAsked)
    assert document(asked)["parts"][0]["text"] == f"{file} has 3 lines; which word shall be looked for?"
    asked = await ask(str(file), "tulip")
    assert isinstance(asked, InputAsked)
    assert document(asked)["parts"][0]["text"] == "no line has 'tulip'; which other word?"
    found = document(await ask(str(file), "tulip", "rose"))
    assert found["parts"][0]["data"] == {"word": "rose", "found": {"1": "a rose", "2": "is a rose"}}


async def test_search_rejects_what_it_cannot_read() -> None:
    for text in ("/no/such/file", "/", "a\0b"):
        assert isinstance(await ask(text), Rejected)
    assert isinstance(await run_handler(search.handle, delivery_of([{"kind": "data", "data": 1}])), Rejected)


async def test_lookup_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1\n\nlocalhost\n127.0.0.1\nno such host\n127.0.0.2\n")
    delivery = delivery_of(str(file), checkpoint=b'{"127.0.0.1":"as it was","localhost":"::1"}')
    task = Task(delivery)
    answered = document(await run_handler(lookup.handle, delivery, task=task))["parts"][0]["data"]
    known = {"127.0.0.1": "as it was", "localhost": "::1", "no such host": None, "127.0.0.2": "127.0.0.2"}
    assert answered == {"addresses": known, "resumed_after": 2}
    assert task.last_checkpoint == known
    assert task.notes.progress == "4/4"


async def test_lookup_rejects_what_is_no_file_of_names() -> None:
    assert isinstance(await run_handler(lookup.handle, delivery_of("/no/such/file")), Rejected)


@pytest.mark.parametrize("how", ["killed", "drained"])
async def test_lookup_does_not_begin_again_when_it_is_ended_midway(how: str, short_path: Path) -> None:
    file = short_path / "hosts"
    names = [f"127.0.0.{number}" for number in range(1, 41)]
    file.write_text("\n".join(names))
    handler, times = "examples.lookup:handle", {"lease": 0.3, "drain_timeout": LONG_DRAIN}
    async with stage(short_path, handler=handler, workers=1, **times) as scene:
        await scene.submit("t", text=str(file))
        kept = len(json.loads(await _checkpoint(scene, "t")))
        if how == "killed":
            os.kill(scene.pool.pid_of("worker 0"), signal.SIGKILL)
        else:
            assert scene.cut_short() == 75
            scene.restart().ready(1)
        record = await scene.completed("t")
        assert record.result
        answered = json.loads(record.result)["parts"][0]["data"]
        assert answered["addresses"] == {name: name for name in names}
        assert answered["resumed_after"] >= kept > 0
        assert record.runs == 2


async def _checkpoint(scene: Scene, task_id: str) -> bytes:
    """The first one that the store has."""
    with anyio.fail_after(PATIENCE):
        while not (checkpoint := (await scene.record(task_id)).checkpoint):  # noqa: ASYNC110 - no event tells of it
            await anyio.sleep(0.02)
    return checkpoint


@pytest.mark.parametrize("path", TEXTS[:3], ids=lambda path: path.name)
async def test_the_shell_script_counts_the_words_of_a_file(path: Path) -> None:
    counted = document(await run_handler(program(SCRIPT), delivery_of(str(path))))["parts"][0]["data"]
    assert counted == {"words": len(content_of(path).split())}


async def test_the_shell_script_counts_the_text_where_there_is_no_such_file() -> None:
    counted = document(await run_handler(program(SCRIPT), delivery_of("to be,\nor not")))["parts"][0]["data"]
    assert counted == {"words": 4}


async def test_the_shell_script_rejects_a_message_without_text() -> None:
    outcome = await run_handler(program(SCRIPT), delivery_of([{"kind": "data", "data": 1}]))
    assert isinstance(outcome, Rejected)
    assert outcome.reason == "send a path or a text"


@pytest.mark.parametrize(("said", "result"), [("yes", "sent: Do not forget the rent."), ("rather not", "not sent")])
async def test_the_reminder_is_sent_with_consent(said: str, result: str) -> None:
    async with create_broker(type="memory") as broker, broker.working(reminder.handlers):
        manager = broker.manager
        task_id = await manager.run_task(name="remind", kwargs={"about": "the rent", "hours": 1.1 / 3600})
        asked = await manager.wait(task_id, timeout=PATIENCE)
        assert asked.state == "input-required"
        await manager.run_task(said, task_id=task_id)
        record = await manager.wait(task_id, timeout=PATIENCE)
        assert (record.value, record.runs) == (result, 3 if said == "yes" else 2)


@pytest.mark.parametrize("name", ["agent", "primes", "wordcount", "search", "lookup"])
def test_each_example_resolves_as_its_docstring_says(name: str) -> None:
    assert resolve(f"examples.{name}:handle", ROOT).default is not None


@pytest.mark.slow
async def test_tally_adds_up_each_file_once_however_often_workers_are_killed(short_path: Path) -> None:
    """With -9, before a file is counted, when it is, and while the count is reported."""
    points = (Point.HANDLER, Point.BEFORE_SETTLE, Point.SETTLE_SENT)
    texts = short_path / "texts"
    texts.mkdir()
    for number in range(120):
        (texts / f"{number:03}").write_text(f"all of file{number}")
    async with stage(short_path, handler="examples.tally:handlers", workers=2, concurrency=1, kill_at=points) as scene:
        for point in points:
            scene.pool.order(point)
        ids = await TaskManager(scene.store, queue=QUEUE).run_flow(tally.tally(texts))
        for _ in points:
            scene.pool.until("died")
        record = await scene.completed(ids[-1])
    expected = {"all": 120, "of": 120} | {f"file{number}": 1 for number in range(120)}
    assert record.value == expected
