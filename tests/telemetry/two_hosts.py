"""One task's way over two hosts, a kill -9 of the first and a retry on the second, as a collector receives it.

`python -m tests.telemetry.two_hosts docs/telemetry.md` plays it and renews the text on that page.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, run
from tempfile import TemporaryDirectory

import anyio

from holdfast.core import identity
from tests.faults.process import Pool
from tests.faults.scene import Scene, stage
from tests.telemetry.receiver import Received, Receiver, attributes, receiving

TASK = "order-4711"
BEGIN, END = "<!-- one trace -->\n```text\n", "```\n"
_TOLD = (
    "host.name",
    "holdfast.delivery.number",
    "holdfast.task.attempt",
    "holdfast.delivery.outcome",
    "error.type",
    "holdfast.recovery.cause",
    "exception.type",
    "exception.stacktrace",
    "holdfast.retry.delay",
)


@contextmanager
def host(name: str) -> Iterator[None]:
    """Pools that are started within the block say that they are on this host."""
    before = os.environ.get("OTEL_RESOURCE_ATTRIBUTES")
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = f"host.name={name}"
    try:
        yield
    finally:
        os.environ.pop("OTEL_RESOURCE_ATTRIBUTES")
        if before is not None:
            os.environ["OTEL_RESOURCE_ATTRIBUTES"] = before


async def play(folder: Path, receiver: Receiver) -> list[Received]:
    """The spans of the trace."""
    flags = {
        "handler": "tests.telemetry.traced:act",
        "otlp_endpoint": receiver.endpoint,
        "workers": 1,
        "trace_mode": "parent",
        "trace_baggage": True,
        "retry_base": 0.0,
        "lease": 1.0,
        "lease_grace": 0.3,
    }
    with host("host-a"):
        staged = stage(folder, **flags)  # type: ignore[arg-type]  # settings
        async with staged as scene:
            await anyio.to_thread.run_sync(submit, scene, receiver, f"{TASK}=order")
            scene.started(TASK)
            receiver.until(lambda: [span for span in receiver.spans() if span.name == "charge card"])
            scene.pool.lose()
            (folder / "b").mkdir()
            with host("host-b"):
                scene.pool = Pool(folder / "b", scene.url, **scene.flags).ready(1)
            await scene.completed(TASK)
            last = identity.span_id(TASK, 3)
            (span,) = receiver.until(lambda: [span for span in receiver.spans() if span.span_id.hex() == last])
            lost = identity.recovery_span_id(TASK, 1)
            receiver.until(lambda: [span for span in receiver.spans() if span.span_id.hex() == lost])
    return [each for each in receiver.spans_with_resource() if each.item.trace_id == span.trace_id]


def submit(scene: Scene, receiver: Receiver, *tasks: str) -> None:
    """Submit them from another process, an application with a tracer."""
    command = [sys.executable, "-m", "tests.telemetry.producer", scene.url, receiver.endpoint, *tasks]
    run(command, check=True, stdout=DEVNULL)


def text(spans: Sequence[Received]) -> str:
    """A tree of spans with their moments, in milliseconds after the first."""
    first = min(each.item.start_time_unix_nano for each in spans)
    return "".join(f"{line}\n" for line in _lines(spans, b"", first, ""))


def _lines(spans: Sequence[Received], parent: bytes, first: int, indent: str) -> Iterator[str]:
    for each in sorted(spans, key=lambda each: each.item.start_time_unix_nano):
        span = each.item
        if span.parent_span_id != parent:
            continue
        begin, end = ((moment - first) / 1e6 for moment in (span.start_time_unix_nano, span.end_time_unix_nano))
        told = _words({**each.resource, **attributes(span.attributes)})
        yield f"{indent}{span.name}  {begin:.0f} to {end:.0f} ms  [{each.resource['service.name']}] {told}"
        for event in span.events:
            yield f"{indent}  · {event.name} {_words(attributes(event.attributes))}".rstrip()
        yield from _lines(spans, span.span_id, first, f"{indent}    ")


def _words(told: dict[str, object]) -> str:
    words = [f"{name.removeprefix('holdfast.')}={told[name]}" for name in _TOLD if name in told]
    return " ".join(words).replace(str(Path.cwd()) + os.sep, "").replace("\n", " / ")


def main(page: Path) -> None:
    with TemporaryDirectory(prefix="holdfast-") as folder, receiving() as receiver:
        shown = text(anyio.run(play, Path(folder), receiver))
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(before + BEGIN + shown + END + rest.partition(END)[2])
    print(shown)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
