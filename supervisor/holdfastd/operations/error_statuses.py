"""For each error: the exit status of a command, the status of an HTTP answer, and the JSON-RPC code of the agent.

MEANINGS is the only table. The first row that fits an error counts, so a class stands above its bases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast import errors
from holdfast.exits import Exit
from holdfast_config.errors import ConfigError
from holdfastd.a2a.rpc_errors import RpcCode
from holdfastd.control.socket_protocol import ControlError, DeniedError


class NotFoundError(errors.HoldfastError):
    """The thing to change does not exist."""


class UnknownNameError(NotFoundError):
    """No lane, handler or host with this name is known."""


class NotPossibleError(errors.HoldfastError):
    """The act is not possible in the present state; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """Says how each kind of caller learns of an error. `exit`: the exit status of a command; `status`: the status of an
    HTTP answer; `code`: the code of a JSON-RPC answer."""

    exit: Exit
    status: int
    code: RpcCode

    @property
    def rpc_status(self) -> int:
        """The HTTP status of a JSON-RPC answer: 200 if the request is at fault."""
        return self.status if self.status >= 500 else 200


_WRONG = Meaning(Exit.USAGE, 400, RpcCode.INVALID_PARAMS)
_MISSING = Meaning(Exit.FAILED, 404, RpcCode.INVALID_PARAMS)
_NOT_NOW = Meaning(Exit.FAILED, 409, RpcCode.UNSUPPORTED_OPERATION)
_TAKEN = Meaning(Exit.FAILED, 409, RpcCode.INVALID_PARAMS)
_SPOILT = Meaning(Exit.FAILED, 502, RpcCode.INTERNAL_ERROR)
_UNKNOWN = Meaning(Exit.FAILED, 500, RpcCode.INTERNAL_ERROR)
BUG = Meaning(Exit.BUG, 500, RpcCode.INTERNAL_ERROR)

MEANINGS: tuple[tuple[type[Exception], Meaning], ...] = (
    (errors.UnknownTaskError, Meaning(Exit.FAILED, 404, RpcCode.TASK_NOT_FOUND)),
    (NotFoundError, _MISSING),
    (errors.UnknownScheduleError, _MISSING),
    (errors.UnknownBatchError, _MISSING),
    (errors.LaneTypeError, Meaning(Exit.CONFIG, 409, RpcCode.INVALID_PARAMS)),
    (errors.InvalidTaskError, _WRONG),
    (errors.InvalidScheduleError, _WRONG),
    (errors.MessageConflictError, _TAKEN),
    (errors.BatchConflictError, _TAKEN),
    (NotPossibleError, _NOT_NOW),
    (errors.TaskEndedError, _NOT_NOW),
    (errors.TaskOpenError, _NOT_NOW),
    (errors.CannotRetryError, _NOT_NOW),
    (errors.ScheduleBusyError, _NOT_NOW),
    (errors.BatchClosedError, _NOT_NOW),
    (errors.QueueBusyError, _NOT_NOW),
    (DeniedError, Meaning(Exit.PERMISSION, 409, RpcCode.UNSUPPORTED_OPERATION)),
    (ControlError, _NOT_NOW),
    (errors.TooManyMessagesError, Meaning(Exit.FAILED, 429, RpcCode.UNSUPPORTED_OPERATION)),
    (errors.UnreadableRecordError, _SPOILT),
    (errors.UnreadableScheduleError, _SPOILT),
    (errors.StoreFullError, Meaning(Exit.FAILED, 503, RpcCode.INTERNAL_ERROR)),
    (errors.StoreUnavailableError, Meaning(Exit.UNAVAILABLE, 503, RpcCode.INTERNAL_ERROR)),
    (errors.StoreRefusedError, Meaning(Exit.CONFIG, 503, RpcCode.INTERNAL_ERROR)),
    (ConfigError, Meaning(Exit.CONFIG, 500, RpcCode.INTERNAL_ERROR)),
    (errors.HoldfastError, _UNKNOWN),
)


def status_of(error: BaseException | None) -> int:
    """The HTTP status of a page that shows this error; 200 without one."""
    return meaning_of(error).status if error else 200


def exit_of(errors: Iterable[BaseException]) -> Exit:
    """The exit status of a command of which these parts were refused: that of the first; OK if none was."""
    return next((meaning_of(each).exit for each in errors), Exit.OK)


def meaning_of(error: BaseException) -> Meaning:
    """The answer to this error; BUG for an error that Holdfast does not raise on purpose."""
    return next((meaning for kind, meaning in MEANINGS if isinstance(error, kind)), BUG)
