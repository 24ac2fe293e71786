"""The errors with which the A2A agent answers JSON-RPC requests, and their codes."""

from __future__ import annotations

from enum import IntEnum

from holdfast.errors import HoldfastError


class RpcCode(IntEnum):
    """Error codes: first those of JSON-RPC, then those of A2A. A2A 1.0 and 0.3 use the same numbers."""

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
    """An error with which the agent answers a request. `status`: the status of the HTTP answer; 200 if the request is
    at fault."""

    def __init__(self, code: RpcCode, message: str, status: int = 200) -> None:
        self.code, self.message, self.status = code, message, status
        super().__init__(message)
