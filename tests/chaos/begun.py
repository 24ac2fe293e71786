"""Writes down what workers begin, before they note it on their pages: nothing else may be charged for their ends."""

from __future__ import annotations

import os

from holdfast.core.delivery import Delivery
from holdfast.worker.run import TaskRunner
from tests.chaos import history_file
from tests.chaos.handler import HOST

BEGUN = "CHAOS_BEGUN"


def hook() -> None:
    """In this process and its children."""
    start = TaskRunner.start

    def write_and_start(self: TaskRunner, delivery: Delivery, now: float) -> None:
        about = {"id": delivery.task_id, "delivery": delivery.delivery, "pid": os.getpid(), "host": os.environ[HOST]}
        history_file.write(os.environ[BEGUN], **about)
        start(self, delivery, now)

    TaskRunner.start = write_and_start  # type: ignore[method-assign]
