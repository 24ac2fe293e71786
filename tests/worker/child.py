"""A worker process for tests: `python -m tests.worker.child CHANNEL INCARNATION FLAGS` with flags as JSON."""

from __future__ import annotations

import json
import os
import socket
import sys

from holdfast.worker.context import WorkerSpec
from holdfast.worker.main import run
from holdfast_config import load

if __name__ == "__main__":
    channel, incarnation, flags = sys.argv[1:]
    spec = WorkerSpec(incarnation, 0, load(json.loads(flags)))
    os._exit(run(spec, socket.socket(fileno=int(channel))))
