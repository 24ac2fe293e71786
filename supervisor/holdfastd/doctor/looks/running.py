"""Asking the supervisor that runs in a runtime directory for its state."""

from __future__ import annotations

from pathlib import Path

from holdfastd.control.client import ask
from holdfastd.control.errors import ControlError, NotRunningError
from holdfastd.control.protocol import AskStatus
from holdfastd.doctor.running import RunningFacts

PATIENCE = 3.0  # seconds: the parent answers at once


def running(runtime_dir: Path) -> RunningFacts:
    try:
        return RunningFacts(ask(runtime_dir, AskStatus(), PATIENCE))
    except NotRunningError as error:
        return RunningFacts(None, str(error), absent=True)
    except (ControlError, OSError) as error:
        return RunningFacts(None, str(error))
