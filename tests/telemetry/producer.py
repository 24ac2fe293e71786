"""An application that submits tasks within a span of its own.

`python -m tests.telemetry.producer REDIS_URL COLLECTOR TASK...`. Each TASK is `<id>=<text>`: one is submitted alone,
several in a batch. `--without-tracer`: it has none.
"""

from __future__ import annotations

import sys

import anyio

from holdfast import TaskSpec, create_broker
from holdfast_config import Settings
from tests.faults.work import QUEUE

WITHOUT = "--without-tracer"


async def submit(url: str, tasks: list[str]) -> None:
    pairs = [task.partition("=") for task in tasks]
    settings = Settings(redis_url=url, queue_name=QUEUE, trace_baggage=True)
    async with create_broker(settings) as broker:
        if len(pairs) == 1:
            [(task_id, _, text)] = pairs
            await broker.manager.run_task(text, task_id=task_id)
        else:
            await broker.manager.run_tasks([TaskSpec(task_id=task_id, text=text) for task_id, _, text in pairs])


def traced(url: str, collector: str, tasks: list[str]) -> None:
    from opentelemetry import baggage, context, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": "shop", "host.name": "shop-1"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector}/v1/traces")))
    trace.set_tracer_provider(provider)
    context.attach(baggage.set_baggage("customer", "c 7"))
    with trace.get_tracer("shop").start_as_current_span("POST /orders"):
        anyio.run(submit, url, tasks)
    provider.shutdown()


def main(url: str, collector: str, *tasks: str) -> None:
    if WITHOUT in tasks:
        anyio.run(submit, url, [task for task in tasks if task != WITHOUT])
    else:
        traced(url, collector, list(tasks))


if __name__ == "__main__":
    main(*sys.argv[1:])
