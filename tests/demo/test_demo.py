"""`supervisor demo`: it keeps its promises, names each that is broken, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from holdfastd.demo import demonstration, tally
from holdfastd.demo.tally import ALL_KEPT, DemoResult, percentile
from tests.cli.commands import Cli, clean
from tests.faults.kin import marked
from tests.forked import SUPERVISOR

MARK = "DEMO_TEST"
SMALL = ("--tasks", "150", "--seconds", "3", "--workers", "4")
KEPT = DemoResult(10, 10, 10, 0, 0, 3, 1, 4, 7.0, 13.0, 2.5)


def left(folder: Path) -> tuple[list[psutil.Process], list[Path]]:
    return marked(MARK, str(folder)), list(folder.glob("holdfast-demo-*"))


@pytest.fixture
def place(short_path: Path) -> Cli:
    """The folder of the demonstration's folders, by which its processes are recognized."""
    return Cli(short_path, (), {"TMPDIR": str(short_path), MARK: str(short_path)})


def test_a_short_demonstration_keeps_its_promises_and_leaves_nothing(place: Cli) -> None:
    done = place("demo", *SMALL, "--json")
    assert done.status == 0, done.err
    ledger = done.document
    assert (ledger["accepted"], ledger["completed"], ledger["commits"]) == (150, 150, 150)
    assert (ledger["lost"], ledger["committed_twice"], ledger["wrong"], ledger["breaches"]) == (0, 0, 0, [])
    assert ledger["workers_killed"] > 0
    assert ledger["stewards_killed"] in {1, 2}  # at the second moment none may live
    assert left(place.folder) == ([], [])


def test_on_a_terminal_it_is_drawn(place: Cli) -> None:
    done = place.on_terminal("demo", "--tasks", "40", "--seconds", "1", "--workers", "2")
    assert done.status == 0
    assert "40 of 40" in done.out
    assert ALL_KEPT in done.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_nothing(place: Cli, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [SUPERVISOR, "demo", "--tasks", "10000", "--seconds", "600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=clean(place.environ),
        cwd=place.folder,
    )
    assert process.stdout is not None
    assert b"completed" in process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (130, b"supervisor: interrupted")
    assert left(place.folder) == ([], [])


def test_what_cannot_be_started_is_told_in_its_own_words(place: Cli) -> None:
    with tempfile.TemporaryDirectory(prefix="h", dir=place.folder) as deep:
        nested = Path(deep) / ("x" * 80)
        nested.mkdir()
        done = Cli(place.folder, (), {**place.environ, "TMPDIR": str(nested)})("demo", *SMALL)
    assert done.status == 78
    assert "socket" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("changed", "breach"),
    [
        ({"accepted": 9}, "submitted: 10 tasks, accepted: 9"),
        ({"completed": 8}, "lost: 2 tasks"),
        ({"committed_twice": 1}, "committed twice: 1 outcome"),
        ({"commits": 11}, "completed: 10 tasks, outcomes: 11"),
        ({"wrong": 3}, "other than the texts say: 3 results"),
    ],
)
def test_each_broken_promise_is_named(changed: dict[str, int], breach: str) -> None:
    assert KEPT.breaches(10) == []
    assert breach in replace(KEPT, **changed).breaches(10)  # type: ignore[arg-type]  # counts


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([], 0.5) is None
    assert [percentile([3.0, 1.0, 2.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 2.0, 3.0]


@pytest.mark.anyio
@pytest.mark.parametrize("text", ["", "one", "two words", "  spaces \n everywhere  ", "x" * 1000, "a b " * 333])
async def test_pieces_count_as_many_words_as_the_whole(text: str) -> None:
    result = await tally.handle([{"parts": [{"text": text}]}])
    assert result["words"] == len(text.split())


def test_the_same_seed_gives_the_same_texts() -> None:
    assert demonstration.passages(50, 3) == demonstration.passages(50, 3) != demonstration.passages(50, 4)
