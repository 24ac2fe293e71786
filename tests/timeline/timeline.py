"""A timeline scheduler as its users have it: a store, an x.conf, commands, and processes that serve."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Thread

from holdfast.timeline import Bike
from holdfast_config import RedisSettings, load
from tests.cli.commands import Answer, Cli, clean
from tests.forked import COMMAND, Program, popen
from tests.timeline.jobs import RAN

PATIENCE = 60.0
ROUND_ROBIN = 'tests.timeline.jobs:Jobs("A:A:B")'


@dataclass
class Timeline:
    folder: Path
    redis: RedisSettings
    environ: Mapping[str, str] = field(default_factory=dict)
    told: dict[int, list[str]] = field(default_factory=dict)  # process id → its lines; all of them once it has ended

    def __post_init__(self) -> None:
        self.configure(worker=ROUND_ROBIN)

    def configure(self, **more: object) -> None:
        """Write x.conf."""
        socket = self.redis.url.removeprefix("unix://")
        given = {"prefix": self.redis.queue, **{key.replace("_", "-"): value for key, value in more.items()}}
        lines = [
            "[server:main]",
            "debug",
            "port = 6543",
            "[redbike]",
            *(f"{key}: {value}" for key, value in given.items()),
        ]
        lines += ["[redbike-redis]", f"unix_socket_path: {socket}", "decode_responses: true"]
        self.conf.write_text("\n".join(lines))

    @property
    def conf(self) -> Path:
        return self.folder / "x.conf"

    @property
    def gate(self) -> Path:
        """While it is there, the runs of held jobs go on."""
        return self.folder / "gate"

    @property
    def environment(self) -> dict[str, str]:
        return {RAN: str(self.folder / "ran"), "HOLDFAST_RUNTIME_DIR": str(self.folder / "run"), **self.environ}

    def __call__(self, *words: str) -> Answer:
        return Cli(self.folder, ("--config", str(self.conf)), self.environment)(*words)

    @cached_property
    def bike(self) -> Bike:
        return Bike(load({"config": self.conf}, environ={}))

    def ran(self) -> list[str]:
        file = self.folder / "ran"
        return file.read_text().splitlines() if file.exists() else []

    def event(self, jobid: str) -> str:
        return str(self.bike.tell(jobid)["status"]).partition(":")[0]

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what other processes bring about."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, (self.ran(), self.bike.statuses())
            time.sleep(0.01)

    def until_event(self, jobid: str, event: str) -> None:
        self.until(lambda: self.event(jobid) == event)

    @contextmanager
    def serving(self, verb: str, *words: str) -> Iterator[Program]:
        """`supervisor VERB`, from its word that it is ready; it is stopped at the end, and says 0."""
        process = popen(
            COMMAND,
            ["--config", str(self.conf), verb, *words],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=clean(self.environment),
        )
        assert process.stderr is not None
        told = self.told[process.pid] = list[str]()
        for line in process.stderr:
            told.append(line)
            if "ready" in line:
                break
        rest = Thread(target=told.extend, args=(process.stderr,))
        rest.start()
        try:
            assert process.poll() is None, "".join(told)
            yield process
            if process.poll() is None:
                process.terminate()
                assert process.wait(PATIENCE) == 0, "".join(told)
        finally:
            process.kill()
            process.wait()
            rest.join()
            process.stderr.close()

    def close(self) -> None:
        self.bike.close()
