"""Asks the supervisor that runs in a runtime folder for its status, or finds the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast_config.trust import ServiceFolder
from holdfastd.control.client import ask
from holdfastd.control.errors import ControlError, NotRunningError
from holdfastd.control.socket_protocol import AskStatus, SupervisorStatus

ANSWER_TIMEOUT = 3.0  # seconds: the parent answers at once


@dataclass(frozen=True, slots=True)
class RunningInfo:
    """The `status` of a supervisor that answers; else the reason why none does, and True if none runs (`absent`)."""

    status: SupervisorStatus | None
    reason: str = ""
    absent: bool = False


def look(folder: ServiceFolder) -> RunningInfo:
    """Asks the supervisor of a runtime folder for its status."""
    try:
        return RunningInfo(ask(folder.check(), AskStatus(), ANSWER_TIMEOUT))
    except NotRunningError as error:
        return RunningInfo(None, str(error), absent=True)
    except OSError as error:
        return RunningInfo(None, f"{error.filename or folder.path}: {error.strerror}")
    except ControlError as error:
        return RunningInfo(None, str(error))
