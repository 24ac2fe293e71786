"""On a host with a service of systemd, commands that only read find it by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast_config import Settings, load
from holdfast_config.service_folders import RunningPool, pool_services
from holdfastd.cli.common.service_pool import found, of_service
from tests.projects.conftest import Home, pool


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
