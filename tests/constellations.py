"""Several servers that serve as one: a master with its replica and three sentinels, a Cluster of three masters.

with sentinels(folder) as group: ...   # group.url: redis+sentinel://…
with cluster(folder) as nodes: ...     # nodes.url: redis+cluster://…

They need TCP ports: each group has a loopback address of its own, so that groups of tests that run at once never meet.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
from redis.crc import key_slot

from tests.certificates import Certificates, certificates
from tests.servers import READY, bundled, running

MASTER = "tasks"  # what the sentinels call it
SENTINEL_READY = "sentinel id is"
QUICKLY = 500  # ms until a server that says nothing counts as gone
SLOTS = 16_384
PATIENCE = 30.0  # seconds
ONE_LOOK = 0.5  # seconds that a reader waits at one server


@dataclass(slots=True)
class Node:
    """One server of a group. `options` follow those of the group."""

    host: str
    port: int
    folder: Path
    process: subprocess.Popen[str]
    options: dict[str, Any] = field(default_factory=dict[str, Any])  # of clients: login, TLS

    def client(self, **options: Any) -> Any:
        reach = {**self.options, **options}
        return redis.Redis(host=self.host, port=self.port, decode_responses=True, protocol=2, **reach)

    def ask(self, *command: str | int) -> Any:
        """One plain command, answered as the protocol has it."""
        with self.client() as client:
            client.response_callbacks.clear()
            return client.execute_command(*command)

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(slots=True)
class Group:
    """Servers on one loopback address; ends all of them when the block ends."""

    folder: Path
    program: Path
    host: str = field(
        default_factory=lambda: f"127.{random.randint(1, 254)}.{os.getpid() % 250 + 1}.{random.randint(1, 254)}"
    )
    stack: ExitStack = field(default_factory=ExitStack)
    secured: Certificates | None = None
    _port: int = 20_000

    def start(self, *options: str) -> Node:
        port, folder = self._place()
        told = [word for name, value in self._usual(port, folder) for word in (f"--{name}", value)]
        return self._run([str(self.program), *told, "--save", "", *options], port, folder, READY)

    def start_sentinel(self, *lines: str) -> Node:
        port, folder = self._place()
        file = folder / "sentinel.conf"
        usual = [f'{name} "{value}"' for name, value in self._usual(port, folder)]
        file.write_text("\n".join((*usual, f"sentinel announce-ip {self.host}", *lines, "")))
        return self._run([str(self.program), str(file), "--sentinel"], port, folder, SENTINEL_READY)

    def _place(self) -> tuple[int, Path]:
        self._port += 1
        folder = self.folder / str(self._port)
        folder.mkdir(parents=True)
        return self._port, folder

    def _usual(self, port: int, folder: Path) -> Iterator[tuple[str, str]]:
        yield from {"bind": self.host, "protected-mode": "no", "dir": str(folder), "logfile": ""}.items()
        if self.secured is None:
            yield "port", str(port)
            return
        yield from {"port": "0", "tls-port": str(port), "tls-replication": "yes", "tls-cluster": "yes"}.items()
        files = (self.secured.authority, self.secured.certificate, self.secured.key)
        yield from zip(("tls-ca-cert-file", "tls-cert-file", "tls-key-file"), map(str, files), strict=True)

    def _run(self, command: Sequence[str], port: int, folder: Path, ready: str) -> Node:
        process = self.stack.enter_context(running(command, folder, ready))
        return Node(self.host, port, folder, process, self._reach())

    def _reach(self) -> dict[str, Any]:
        if self.secured is None:
            return {}
        files = (self.secured.authority, self.secured.certificate, self.secured.key)
        named = zip(("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"), map(str, files), strict=True)
        return {"ssl": True, **dict(named)}

    @property
    def scheme(self) -> str:
        return "rediss" if self.secured else "redis"


def _group(folder: Path, program: Path | None, *, tls: bool) -> Group:
    group = Group(folder, program or bundled())
    if tls:
        folder.mkdir(parents=True, exist_ok=True)
        group.secured = certificates(folder, [group.host])
    return group


@dataclass(slots=True)
class Sentinels:
    """`master` and `replicas` are what they were at the beginning."""

    master: Node
    replicas: Sequence[Node]
    sentinels: Sequence[Node]
    group: Group

    @property
    def replica(self) -> Node:
        """Where there is one."""
        (only,) = self.replicas
        return only

    @property
    def url(self) -> str:
        return f"{self.group.scheme}+sentinel://{','.join(each.address for each in self.sentinels)}/{MASTER}"

    def named(self) -> Node:
        """The address of the master, as the sentinels say."""
        _, port = self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
        return next(node for node in (self.master, *self.replicas) if node.port == int(port))

    def read(self, after: dict[str, str], milliseconds: int) -> Any:
        """XREAD on the master, whoever that is by then."""
        return read_patiently(lambda: self.named().client(socket_timeout=ONE_LOOK * 3), after, milliseconds)


@contextmanager
def sentinels(
    folder: Path,
    *options: str,
    program: Path | None = None,
    tls: bool = False,
    replicas: int = 1,
    sentinel_lines: Sequence[str] = (),
    sentinel_login: tuple[str, str] | None = None,
) -> Iterator[Sentinels]:
    """`options` are the servers'; the login is the one that sentinels take from this block."""
    group = _group(folder, program, tls=tls)
    with group.stack:
        announced = ("--replica-announce-ip", group.host, "--repl-diskless-sync-delay", "0", *options)
        master = group.start(*announced)
        following = ("--replicaof", f"{group.host} {master.port}")
        others = [group.start(*announced, *following) for _ in range(replicas)]
        until(lambda: all("master_link_status:up" in each.ask("INFO", "replication") for each in others))
        lines = (
            f"sentinel monitor {MASTER} {group.host} {master.port} 2",
            f"sentinel down-after-milliseconds {MASTER} {QUICKLY}",
            f"sentinel failover-timeout {MASTER} 3000",
            *sentinel_lines,
        )
        made = Sentinels(master, others, [group.start_sentinel(*lines) for _ in range(3)], group)
        for each in made.sentinels if sentinel_login else ():
            each.options.update(zip(("username", "password"), sentinel_login or (), strict=True))
        for each in made.sentinels:
            until(lambda each=each: _knows(each, replicas))  # type: ignore[misc]  # the loop's own value
        yield made


def _knows(sentinel: Node, replicas: int) -> bool:
    """The other two and all replicas: it could elect, and would have whom to promote."""
    told = sentinel.ask("SENTINEL", "MASTER", MASTER)
    facts = dict(zip(told[::2], told[1::2], strict=True))
    return (facts["num-other-sentinels"], facts["num-slaves"]) == ("2", str(replicas))


@dataclass(slots=True)
class Cluster:
    """`nodes` are the masters that it began with."""

    nodes: Sequence[Node]
    group: Group
    options: Sequence[str]

    @property
    def url(self) -> str:
        return f"{self.group.scheme}+cluster://{','.join(each.address for each in self.nodes)}"

    def owner(self, queue: str) -> Node:
        slot = key_slot(queue.encode())
        rows = self.nodes[0].ask("CLUSTER", "SLOTS")
        port = next(int(row[2][1]) for row in rows if row[0] <= slot <= row[1])
        return next(node for node in self.nodes if node.port == port)

    def follow(self, master: Node) -> Node:
        """A new replica of this node, which has all that it has."""
        replica = self.group.start(*self.options)
        replica.ask("CLUSTER", "MEET", master.host, master.port)
        until(lambda: f"{master.host}:{master.port}@" in replica.ask("CLUSTER", "NODES"))
        until(lambda: does(lambda: replica.ask("CLUSTER", "REPLICATE", master.ask("CLUSTER", "MYID"))))
        until(lambda: "master_link_status:up" in replica.ask("INFO", "replication"))
        for node in self.nodes:
            until(lambda node=node: f":{replica.port}@" in node.ask("CLUSTER", "NODES"))  # type: ignore[misc]  # the loop's own value
        return replica

    def read(self, after: dict[str, str], milliseconds: int) -> Any:
        """XREAD on the node that has the stream by then."""
        (key,) = after
        return read_patiently(lambda: self.owner(key).client(socket_timeout=ONE_LOOK * 3), after, milliseconds)

    def other(self, queue: str) -> Node:
        """A node that does not serve this queue."""
        return next(node for node in self.nodes if node is not self.owner(queue))

    @contextmanager
    def moving(self, queue: str, to: Node) -> Iterator[Callable[[], int]]:
        """The slot of the queue is on its way, as redis-cli does it: each call moves some keys and tells how many; at
        the end the rest moves, and everybody is told of the new owner."""
        source, slot = self.owner(queue), key_slot(queue.encode())
        to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.ask("CLUSTER", "MYID"))

        def move(most: int = 3) -> int:
            keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, most)
            if keys:
                source.ask("MIGRATE", to.host, to.port, "", 0, 10_000, "KEYS", *keys)
            return len(keys)

        yield move
        while move(1000):
            pass
        for node in (to, source, *self.nodes):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.ask("CLUSTER", "MYID"))


@contextmanager
def cluster(
    folder: Path, *options: str, program: Path | None = None, masters: int = 3, tls: bool = False
) -> Iterator[Cluster]:
    """Masters that share the slots; `options` are the servers' own."""
    group = _group(folder, program, tls=tls)
    with group.stack:
        ours = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-announce-ip", group.host)
        made = Cluster([group.start(*ours, *options) for _ in range(masters)], group, ours)
        each = SLOTS // masters
        for number, node in enumerate(made.nodes):
            last = SLOTS - 1 if number == masters - 1 else (number + 1) * each - 1
            node.ask("CLUSTER", "ADDSLOTSRANGE", number * each, last)
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in made.nodes[1:]:
            node.ask("CLUSTER", "MEET", group.host, made.nodes[0].port)
        for node in made.nodes:
            until(lambda node=node: "cluster_state:ok" in node.ask("CLUSTER", "INFO"))  # type: ignore[misc]  # the loop's own value
            until(lambda node=node: len(node.ask("CLUSTER", "SLOTS")) == masters)  # type: ignore[misc]  # the loop's own value
        yield made


def does(action: Callable[[], object]) -> bool:
    """True if the server is willing by now."""
    with suppress(redis.ResponseError):
        action()
        return True
    return False


def until(holds: Callable[[], bool]) -> None:
    """Servers send no event when they agree among themselves."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "the servers do not agree"
        time.sleep(0.02)


def read_patiently(connect: Callable[[], Any], after: dict[str, str], milliseconds: int) -> Any:
    """The lines of a stream, in short looks: the server may be another one at the next."""
    deadline = time.monotonic() + milliseconds / 1000
    while True:
        left = deadline - time.monotonic()
        with suppress(redis.RedisError), connect() as client:
            found = client.xread(after, block=max(1, round(min(ONE_LOOK, left) * 1000)))
            if found or left <= 0:
                return found
        if left <= 0:
            return []
