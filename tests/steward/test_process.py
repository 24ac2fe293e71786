"""The steward as a process: how it boots, what it does with a store that is away, and how it ends."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from redis import Redis

from holdfast.exits import ChildExit
from holdfast.ipc.channel import Acknowledged, Beat, BootFailed, Born, Died, Leave, Ready
from holdfast.os.locks import hold
from holdfast_config import Settings
from tests.servers import SOCKET, serve
from tests.steward.process import Steward, steward


def settings_for(url: str, runtime_dir: Path) -> Settings:
    (runtime_dir / "incarnations").mkdir(exist_ok=True)
    return Settings(redis_url=url, queue_name=f"test:{uuid4().hex}", runtime_dir=runtime_dir)


@pytest.fixture
def settings(server_url: str, short_path: Path) -> Settings:
    return settings_for(server_url, short_path)


def died() -> Died:
    return Died(uuid4().hex, "signal 9", charged=True)


def is_degraded(beat: Beat) -> bool:
    return bool(beat.degraded)


def is_well(beat: Beat) -> bool:
    return not beat.degraded


# Booting


def test_with_a_fit_store_it_is_ready_and_beats(settings: Settings) -> None:
    with steward(settings) as child:
        child.hear(Ready)
        assert child.hear(Beat).degraded == ""


def test_an_unreachable_store_at_the_first_boot_ends_it_naming_the_store_without_password(short_path: Path) -> None:
    settings = settings_for("redis://user:secret@127.0.0.1:1/0", short_path)
    with steward(settings) as child:
        failed = child.hear(BootFailed)
        assert child.exit_code() == failed.code == ChildExit.UNAVAILABLE
    assert "127.0.0.1:1" in failed.error
    assert "secret" not in failed.error
    assert "is REDIS_URL right?" in failed.error
    assert "\n" not in failed.error


def test_a_store_that_accepts_and_never_answers_ends_the_first_boot_too(short_path: Path) -> None:
    settings = Settings(runtime_dir=short_path, state_dir=short_path, boot_timeout=1)
    with black_hole(settings), steward(settings) as child:
        failed = child.hear(BootFailed)
        assert child.exit_code() == failed.code == ChildExit.UNAVAILABLE
    assert str(short_path / "store" / "server.log") in failed.error


@contextmanager
def black_hole(settings: Settings) -> Iterator[None]:
    """In the place of the embedded store: takes connections and is silent."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(settings.runtime_dir / "store.sock"))
        listener.listen()
        yield


def test_a_store_that_comes_while_the_first_boot_is_trying_is_good_enough(short_path: Path) -> None:
    with steward(settings_for(f"unix://{short_path}/{SOCKET}", short_path)) as child, serve(short_path):
        child.hear(Ready)


def test_an_unfit_store_is_refused_at_the_first_boot(short_path: Path) -> None:
    with serve(short_path, "--maxmemory-policy", "allkeys-lru") as server:
        with steward(settings_for(server.url, short_path)) as child:
            failed = child.hear(BootFailed)
            assert child.exit_code() == failed.code == ChildExit.BOOT_FAILED
        assert "noeviction" in failed.error


def test_a_user_without_a_right_is_refused_at_the_first_boot(short_path: Path) -> None:
    """Redis 7 gives a user of `+@all` no channels: who may not publish would record half of each result."""
    with serve(short_path) as server, Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all")
        url = server.url.replace("unix://", "unix://app:pw@")
        with steward(settings_for(url, short_path)) as child:
            failed = child.hear(BootFailed)
            assert child.exit_code() == failed.code == ChildExit.BOOT_FAILED
        assert "may not run PUBLISH" in failed.error
        assert "supervisor doctor" in failed.error


def test_on_later_boots_an_unreachable_store_is_waited_for(short_path: Path) -> None:
    death = died()
    with steward(settings_for(f"unix://{short_path}/{SOCKET}", short_path), first=False) as child:
        child.hear(Ready)
        child.tell(death)
        child.hear(Beat, is_degraded)
        with serve(short_path):
            assert child.hear(Acknowledged).incarnation == death.incarnation
            child.hear(Beat, is_well)


# While the store is away


def test_the_loss_of_the_store_is_outlived(short_path: Path) -> None:
    with ExitStack() as servers:
        server = servers.enter_context(serve(short_path))
        with steward(settings_for(server.url, short_path)) as child:
            child.hear(Beat, is_well)
            servers.close()
            deaths = [died(), died(), died()]
            child.tell(*deaths)
            child.hear(Beat, is_degraded)
            servers.enter_context(serve(short_path))
            assert [child.hear(Acknowledged).incarnation for _ in deaths] == [each.incarnation for each in deaths]
            child.hear(Beat, is_well)


def test_a_store_that_becomes_unfit_is_shown_and_ends_nothing(short_path: Path) -> None:
    settings = settings_for(f"unix://{short_path}/{SOCKET}", short_path)
    with serve(short_path, "--maxmemory-policy", "allkeys-lru"), steward(settings, first=False) as child:
        child.hear(Ready)
        child.hear(Beat, lambda beat: "noeviction" in beat.degraded)
        death = died()
        child.tell(death)
        assert child.hear(Acknowledged).incarnation == death.incarnation


# Ending


def is_up(child: Steward) -> None:
    child.hear(Beat)


def test_without_a_parent_it_ends_at_once(settings: Settings) -> None:
    with steward(settings) as child:
        is_up(child)
        child.hang_up()
        assert child.exit_code() == ChildExit.ORPHANED


def test_without_a_parent_it_ends_while_it_still_boots(short_path: Path) -> None:
    settings = Settings(runtime_dir=short_path, state_dir=short_path)
    with black_hole(settings), steward(settings) as child:
        child.hang_up()
        assert child.exit_code() == ChildExit.ORPHANED


def test_asked_to_leave_it_acknowledges_what_it_was_told_first(settings: Settings) -> None:
    with steward(settings) as child:
        is_up(child)
        deaths = [died() for _ in range(20)]
        child.tell(*deaths, Leave(time.monotonic() + 30))
        assert [child.hear(Acknowledged).incarnation for _ in deaths] == [each.incarnation for each in deaths]
        assert child.exit_code() == ChildExit.OK


def test_a_parent_that_is_slow_to_read_gets_the_last_words(settings: Settings) -> None:
    deaths = [died() for _ in range(100)]
    last = settings.runtime_dir / "incarnations" / f"{deaths[-1].incarnation}.lock"
    last.touch()
    with steward(settings, buffer=4608) as child:
        child.tell(*deaths, Leave(time.monotonic() + 30))
        while last.exists():  # until then nothing is read
            assert child.process.poll() is None
        assert [child.hear(Acknowledged).incarnation for _ in deaths] == [each.incarnation for each in deaths]
        assert child.exit_code() == ChildExit.OK


def test_it_leaves_by_the_deadline_though_the_store_is_away(short_path: Path) -> None:
    with steward(settings_for(f"unix://{short_path}/{SOCKET}", short_path), first=False) as child:
        child.hear(Ready)
        child.tell(died(), Leave(time.monotonic() + 0.3))
        assert child.exit_code() == ChildExit.OK


def test_it_leaves_by_the_deadline_though_the_store_does_not_answer(short_path: Path) -> None:
    settings = Settings(runtime_dir=short_path, state_dir=short_path)
    with black_hole(settings), steward(settings, first=False) as child:
        child.hear(Ready)
        child.tell(died(), Leave(time.monotonic() + 0.3))
        assert child.process.wait(settings.redis_answer_timeout) == ChildExit.OK  # the answer is not waited for


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_makes_it_leave(settings: Settings, number: signal.Signals) -> None:
    with steward(settings) as child:
        is_up(child)
        child.process.send_signal(number)
        assert child.exit_code() == ChildExit.OK


# Orphans of an earlier parent


def test_workers_that_an_earlier_parent_left_are_recovered_at_once_if_they_are_gone(settings: Settings) -> None:
    folder = settings.runtime_dir / "incarnations"
    gone, living, ours = (folder / f"{uuid4().hex}.lock" for _ in range(3))
    gone.touch()
    descriptors = [hold(living), hold(ours)]
    assert None not in descriptors
    with steward(settings) as child:
        child.tell(Born(ours.stem))
        for _ in range(2):  # before a second sighting
            child.hear(Beat)
        assert not gone.exists()
        assert living.exists()
        assert ours.exists()
