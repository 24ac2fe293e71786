"""The files that `supervisor init` writes: a handler, the settings, a test."""

from __future__ import annotations

from collections.abc import Mapping

_AGENT = '''\
"""Handlers of tasks. `supervisor start` runs them, `pytest` tests them."""

import asyncio

from holdfast import Handlers, Task

handlers = Handlers()


@handlers.register("greet")
async def greet(task: Task, name: str, greeting: str = "Hello") -> str:
    """Greet somebody. The worker passes `task`; the others are the task's arguments."""
    task.logger.info("greeting", name=name)
    return f"{greeting}, {name}!"


async def main() -> None:
    """Submit a task and wait for its result."""
    sent = await greet.submit("Ada", greeting="Good morning")
    record = await sent.wait(timeout=60, raise_failed=True)
    print(record.value)


if __name__ == "__main__":
    asyncio.run(main())
'''

_SETTINGS = """\
# Settings of `supervisor` in this folder. `supervisor config show` lists all of them, with the origin of each.

handler = "agent:handlers"
workers = 2

# Your own Redis, in place of the embedded store:
#redis_url = "redis://127.0.0.1:6379/0"
"""

_TEST = '''\
"""Tests of agent.py: the handlers run in this process, without a server."""

from holdfast.testing import MemoryBroker

from agent import greet


def test_greet_says_hello(holdfast_broker: MemoryBroker) -> None:
    sent = greet.submit_sync("Ada")
    holdfast_broker.assert_submitted(greet, name="Ada")
    assert sent.wait(raise_failed=True).value == "Hello, Ada!"


def test_a_delayed_greeting_waits_for_its_time(holdfast_broker: MemoryBroker) -> None:
    sent = greet.options(delay=3600).submit_sync("Ada")
    holdfast_broker.move_time_sync(minutes=59)
    assert sent.record().state == "delayed"
    holdfast_broker.move_time_sync(minutes=1)
    assert sent.record().value == "Hello, Ada!"
'''

FILES: Mapping[str, str] = {"agent.py": _AGENT, "supervisor.toml": _SETTINGS, "test_agent.py": _TEST}
EXAMPLE = """supervisor submit --wait --name greet --data '{"name": "Ada"}'"""
