"""Asking the supervisor that runs in a runtime directory for its state."""

from __future__ import annotations

from holdfast_config.trust import ServiceFolder
from holdfastd.control.client import ask
from holdfastd.control.errors import ControlError, NotRunningError
from holdfastd.control.protocol import AskStatus
from holdfastd.doctor.running_service import RunningInfo

PATIENCE = 3.0  # seconds: the parent answers at once


def running(folder: ServiceFolder) -> RunningInfo:
    try:
        return RunningInfo(ask(folder.check(), AskStatus(), PATIENCE))
    except NotRunningError as error:
        return RunningInfo(None, str(error), absent=True)
    except OSError as error:
        return RunningInfo(None, f"{error.filename or folder.path}: {error.strerror}")
    except ControlError as error:
        return RunningInfo(None, str(error))
