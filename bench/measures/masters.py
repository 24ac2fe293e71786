"""Namespaces on a Cluster of three masters: which part of the processor time each master has.

Each namespace is a queue of its own name, with a producer and a supervisor of one worker. All keys of a namespace are
on one master: the names are chosen so that the namespaces are spread evenly.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.environ import environ
from bench.measures import Figures
from bench.pool import folder
from bench.records import Records, records
from bench.site import Site, Subject
from bench.systems import HOLDFAST, START
from bench.tcp_server import TcpServer
from bench.worker_tree import WorkerTree
from tests.constellations import Cluster, Node, cluster

COUNTS = (1, 3, 6)
RUN_WITHIN = 180.0  # seconds


def measure(program: str, tasks: int) -> Iterator[tuple[int, Figures]]:
    for count in COUNTS:
        yield count, _shares(count, program, tasks)


def _shares(count: int, program: str, tasks: int) -> Figures:
    with folder() as place, records() as seen, cluster(place, program=Path(program)) as group, ExitStack() as stack:
        sites = [_site(group, name, place, seen) for name in _names(group, count)]
        for site in sites:
            stack.callback(site.tree.end)
            site.produce("bulk", tasks // count)
        before = [_cpu(node) for node in group.nodes]
        for site in sites:
            site.tree.start()
        total = tasks // count * count
        sites[0].wait(lambda: seen.count() >= total, RUN_WITHIN, "all tasks have run")
        return _figures(before, [_cpu(node) for node in group.nodes], total)


def _figures(before: Sequence[float], after: Sequence[float], tasks: int) -> Figures:
    spent = [later - earlier for earlier, later in zip(before, after, strict=True)]
    shares = {
        f"master_{number}": seconds / sum(spent) for number, seconds in enumerate(sorted(spent, reverse=True), start=1)
    }
    return {"server_us": sum(spent) / tasks * 1e6, **shares}


def _names(group: Cluster, count: int) -> list[str]:
    """As many on each master."""
    names: list[str] = []
    number = 0
    while len(names) < count:
        name, node = f"tasks-{number}", group.nodes[len(names) % len(group.nodes)]
        number += 1
        if group.owner(name) is node:
            names.append(name)
    return names


def _site(group: Cluster, name: str, place: Path, seen: Records) -> Site:
    system = replace(HOLDFAST, command=(*START, "--workers", "1", "--queue-name", name), options={"queue": name})
    own = place / name
    own.mkdir()
    variables = {**environ(seen), "BENCH_URL": group.url, "BENCH_OPTIONS": json.dumps(system.options)}
    program, *rest = (part.format(url=group.url, place=own, workers=1) for part in system.command)
    tree = WorkerTree([[str(Path(sys.executable).with_name(program)), *rest]], variables, own, own / "log")
    tree.log.touch()
    server = TcpServer(group.url, group.owner(name).client())
    return Site(Subject(name, system, 1, ""), server, seen, tree, Path(sys.executable), variables)


def _cpu(node: Node) -> float:
    info: dict[str, Any] = node.client().info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])
