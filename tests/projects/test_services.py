"""On a host with a service of systemd, commands that only read find it by themselves. For root all commands find it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from holdfast_config import Settings, load
from holdfast_config.service_folders import RunningPool, pool_services
from holdfastd.cli.common.service_pool import found, of_service
from tests.cli.commands import Answer, clean
from tests.forked import SUPERVISOR
from tests.projects.conftest import Home, pool
from tests.users import needs_users


def loaded(home: Home, **flags: str) -> Settings:
    return load(flags, environ=home.environ, folder=home.folder)


def test_the_folders_of_systemd_are_found(short_path: Path) -> None:
    for name in ("holdfast", "holdfast-billing", "other"):
        (short_path / name).mkdir()
    (short_path / "holdfast.txt").touch()
    assert [pool.runtime_dir.name for pool in pool_services(short_path)] == ["holdfast", "holdfast-billing"]
    assert pool_services(short_path / "nowhere") == []


@pytest.mark.parametrize(("names", "expected"), [([], None), (["a"], Path("a")), (["a", "b"], None)])
def test_the_only_service_is_taken(home: Home, names: Sequence[str], expected: Path | None) -> None:
    there = [RunningPool(Path(name)) for name in names]
    assert found(loaded(home), there) == expected
    assert found(loaded(home, runtime_dir=str(home.folder / "named")), there) is None
    assert found(loaded(home, scheduler_type="memory"), there) is None


def test_the_supervisor_of_the_project_comes_first(home: Home) -> None:
    project = home.project("one")
    settings = load(environ=home.environ, folder=project.folder)
    there = [RunningPool(Path("/run/holdfast"))]
    with pool(project):
        assert found(settings, there) is None
    assert found(settings, there) == Path("/run/holdfast")


def test_a_change_finds_the_service_only_for_root_and_not_for_a_project_with_data(home: Home) -> None:
    there = [RunningPool(Path("/run/holdfast"))]
    settings = loaded(home)
    assert found(settings, there, changes=True) == (None if os.getuid() else Path("/run/holdfast"))
    (settings.state_dir / "store" / "appendonlydir").mkdir(parents=True)
    assert found(settings, there, changes=True) is None
    assert found(settings, there) == Path("/run/holdfast")


# A host of its own: a namespace with an empty /run, in which root runs services.

OWN_RUN = ("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /run && echo ready && exec sleep 600")


@pytest.fixture
def within(home: Home) -> Generator[Sequence[str]]:
    """The words that run a command on this host."""
    needs_users()
    with subprocess.Popen(OWN_RUN, stdout=PIPE, stderr=DEVNULL, text=True) as host:
        try:
            if host.stdout is None or host.stdout.readline() != "ready\n":
                pytest.skip("needs the right to mount")
            yield ("nsenter", f"--mount=/proc/{host.pid}/ns/mnt", f"--wdns={home.folder}")
        finally:
            host.kill()


@pytest.fixture
def root(home: Home, within: Sequence[str]) -> Callable[..., Answer]:
    """The command `supervisor` of root on this host, in a folder that is no project."""

    def run(*words: str) -> Answer:
        command = [*within, str(SUPERVISOR), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=clean(home.environ))
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


@contextmanager
def service(within: Sequence[str], home: Home, name: str, url: str) -> Generator[None]:
    words = [
        "start",
        "examples.wordcount:handle",
        "--workers",
        "1",
        "--redis-url",
        url,
        "--queue-name",
        f"{home.folder}{name}",
    ]
    command = [*within, str(SUPERVISOR), *words, "--runtime-dir", f"/run/{name}"]
    with subprocess.Popen(command, stderr=PIPE, text=True, env=clean(home.environ)) as process:
        try:
            assert any("worker ready" in line for line in process.stderr or ())
            yield
        finally:
            process.terminate()
            process.communicate(timeout=60)


def test_root_types_no_folder_for_the_only_service_of_the_host(
    home: Home, within: Sequence[str], root: Callable[..., Answer], server_url: str
) -> None:
    with ExitStack() as services:
        services.enter_context(service(within, home, "holdfast", server_url))
        for words in (["submit", "a b", "--wait"], ["scale", "2"], ["status"], ["quiet"]):
            answer = root(*words)
            assert answer.status == 0, answer.err
            assert "this command uses the service in /run/holdfast\n" in answer.err
        services.enter_context(service(within, home, "holdfast-billing", server_url))
        for words in (["scale", "2"], ["submit", "a b"], ["status"]):
            answer = root(*words)
            assert answer.status
            assert "--runtime-dir" in answer.err
            assert answer.err.endswith("(there is /run/holdfast, and /run/holdfast-billing)\n")
        assert root("--runtime-dir", "/run/holdfast-billing", "scale", "2").status == 0


def test_store_and_queue_are_those_of_the_service(home: Home, server_url: str) -> None:
    service = home.project("service")
    queue = f"test:{home.folder}"
    with pool(service, "--redis-url", server_url, "--queue-name", queue):
        (folder,) = home.own(home.sockets)
        seen = of_service(loaded(home), folder, home.folder / "nowhere")
        assert (seen.redis_url, seen.queue_name, seen.runtime_dir) == (server_url, queue, folder)
        own = of_service(loaded(home, redis_url="redis://own/1", queue_name="mine"), folder)
        assert (own.redis_url, own.queue_name) == ("redis://own/1", "mine")


def test_the_data_of_a_service_has_the_name_of_its_runtime_folder(home: Home) -> None:
    (home.folder / "lib" / "holdfast-a").mkdir(parents=True)
    seen = of_service(loaded(home), home.folder / "holdfast-a", home.folder / "lib")
    assert seen.state_dir == home.folder / "lib" / "holdfast-a"
