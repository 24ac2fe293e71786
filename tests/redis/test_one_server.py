"""One server: over TCP, over a unix socket, over TLS with certificates on both sides, with a login."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from socket import inet_aton

import anyio
import pytest
import structlog

from holdfast import create_broker
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast_config import load
from tests.certificates import Certificates, certificates
from tests.redis.work import opened, round_of_work
from tests.servers import serve

pytestmark = pytest.mark.anyio

PORT = 20_001


def own_address() -> str:
    """Of the loopback network, for this test alone."""
    return f"127.{random.randint(1, 254)}.{random.randint(1, 254)}.{random.randint(1, 254)}"


@dataclass(frozen=True, slots=True)
class Secured:
    """A server that asks its clients for certificates."""

    address: str
    files: Certificates

    def url(self, **options: object) -> str:
        """The Redis settings for this address, with these files."""
        return load({"redis_url": f"rediss://{self.address}:{PORT}/0", **options}, environ={}).redis.url


@pytest.fixture(scope="module")
def secured(tls_server: Path, folder: Path) -> Iterator[Secured]:
    address = own_address()
    files = certificates(folder, [address])
    options = {
        "port": 0, "tls-port": PORT, "bind": address, "tls-ca-cert-file": files.authority, "tls-auth-clients": "yes",
        "tls-cert-file": files.certificate, "tls-key-file": files.key,
    }  # fmt: skip
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    with serve(folder, *given, program=tls_server):
        yield Secured(address, files)


async def test_work_is_done_over_a_unix_socket_whose_path_names_a_database(server_url: str) -> None:
    await round_of_work(f"{server_url}?db=1")


async def test_work_is_done_over_tcp_with_a_login(short_path: Path) -> None:
    address = own_address()
    with serve(
        short_path, "--bind", address, "--port", str(PORT), "--user", "ann", "on", ">p@/", "allkeys", "&*", "+@all"
    ):
        await round_of_work(f"redis://ann:p%40%2F@{address}:{PORT}/2")
        with pytest.raises(StoreRefusedError, match=r"redis://ann:\*\*\*@.*password"):
            await round_of_work(f"redis://ann:wrong@{address}:{PORT}/2")


async def test_the_line_that_says_where_one_is_connected_masks_the_password(short_path: Path) -> None:
    address = own_address()
    with serve(short_path, "--bind", address, "--port", str(PORT), "--requirepass", "hunter2"):
        with structlog.testing.capture_logs() as logs:
            async with create_broker(redis_url=f"redis://:hunter2@{address}:{PORT}/0") as broker:
                assert await broker.manager.health_check()
        assert [entry["event"] for entry in logs] == [f"Redis scheduler connected to redis://:***@{address}:{PORT}/0"]


async def test_work_is_done_over_tls_with_certificates_on_both_sides(secured: Secured) -> None:
    files = secured.files
    given = {"redis_ca_file": files.authority, "redis_cert_file": files.certificate, "redis_key_file": files.key}
    await round_of_work(secured.url(**given))


@pytest.mark.parametrize(
    "given", [("redis_ca_file",), ("redis_cert_file", "redis_key_file")], ids=["no certificate", "no authority"]
)
async def test_whoever_is_not_trusted_does_not_connect(secured: Secured, given: tuple[str, ...]) -> None:
    files = secured.files
    every = {"redis_ca_file": files.authority, "redis_cert_file": files.certificate, "redis_key_file": files.key}
    async with opened(secured.url(**{name: every[name] for name in given})) as (store, _):
        with pytest.raises(StoreUnavailableError, match="certificate"):
            await store.ping()


async def test_a_certificate_for_another_host_is_refused(tls_server: Path, short_path: Path) -> None:
    address = own_address()
    files = certificates(short_path, ["127.0.0.1"])
    tls = ("--tls-ca-cert-file", str(files.authority), "--tls-cert-file", str(files.certificate))
    own = ("--port", "0", "--tls-port", str(PORT), "--bind", address, "--tls-key-file", str(files.key))
    with serve(short_path, *own, *tls, "--tls-auth-clients", "no", program=tls_server):
        url = f"rediss://{address}:{PORT}?ssl_ca_certs={files.authority}"
        async with opened(url) as (store, _):
            with pytest.raises(StoreUnavailableError, match="certificate"):
                await store.ping()
        await round_of_work(f"{url}&ssl_check_hostname=no")


async def test_a_wait_for_a_bell_over_tcp_is_probed_by_the_kernel(short_path: Path) -> None:
    address = own_address()
    with serve(short_path, "--bind", address, "--port", str(PORT)):
        async with opened(f"redis://{address}:{PORT}") as (store, queue), anyio.create_task_group() as group:
            group.start_soon(store.listen, "a" * 32, [queue], 30.0)
            with anyio.fail_after(20.0):
                while not (probed := keepalive_timers(address)):  # noqa: ASYNC110 - the kernel tells nobody
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    assert max(probed) <= 3.0


def keepalive_timers(server: str) -> list[float]:
    """Seconds until the kernel probes each connection to this address (timer 2 of /proc/net/tcp is keepalive's)."""
    peer = f"{inet_aton(server)[::-1].hex().upper()}:{PORT:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    timers = [row[5].split(":") for row in rows if row[2] == peer]
    return [int(when, 16) / 100 for kind, when in timers if kind == "02"]
