"""Errors of the JSON-RPC interface: their codes, and which error of the queue is which."""

from __future__ import annotations

from enum import IntEnum

from holdfast.errors import (
    HoldfastError,
    InvalidTaskError,
    MessageConflictError,
    StoreFullError,
    StoreUnavailableError,
    TaskEndedError,
    TooManyMessagesError,
    UnknownTaskError,
)


class RpcCode(IntEnum):
    """Those of JSON-RPC, then those of A2A, which both versions share as far as 0.3 has them."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    TASK_NOT_FOUND = -32001
    TASK_NOT_CANCELABLE = -32002
    PUSH_NOTIFICATION_NOT_SUPPORTED = -32003
    UNSUPPORTED_OPERATION = -32004
    CONTENT_TYPE_NOT_SUPPORTED = -32005
    EXTENDED_AGENT_CARD_NOT_CONFIGURED = -32007
    VERSION_NOT_SUPPORTED = -32009


class RpcError(HoldfastError):
    """`status`: that of the HTTP answer; 200 for all that the request itself is to blame for."""

    def __init__(self, code: RpcCode, message: str, status: int = 200) -> None:
        self.code, self.message, self.status = code, message, status
        super().__init__(message)


_CODES: tuple[tuple[type[HoldfastError], RpcCode, int], ...] = (
    (UnknownTaskError, RpcCode.TASK_NOT_FOUND, 200),
    (TaskEndedError, RpcCode.UNSUPPORTED_OPERATION, 200),
    (InvalidTaskError, RpcCode.INVALID_PARAMS, 200),
    (MessageConflictError, RpcCode.INVALID_PARAMS, 200),
    (TooManyMessagesError, RpcCode.UNSUPPORTED_OPERATION, 200),
    (StoreFullError, RpcCode.INTERNAL_ERROR, 503),
    (StoreUnavailableError, RpcCode.INTERNAL_ERROR, 503),
)


def rpc_error(error: HoldfastError) -> RpcError:
    """The error of the interface for one of the queue."""
    code, status = next(
        ((code, status) for kind, code, status in _CODES if isinstance(error, kind)), (RpcCode.INTERNAL_ERROR, 500)
    )
    return RpcError(code, str(error), status)
