"""JSON-RPC 2.0: reads a request, writes answers and errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgspec

from holdfastd.a2a.rpc_errors import RpcCode, RpcError

P = TypeVar("P")

DOMAIN = "a2a-protocol.org"

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


OPAQUE = frozenset({"metadata", "data"})  # what stands in these belongs to the client
_UNDERSCORE = re.compile(r"_([a-z])")
DEPTH = 8  # of the parameters, of which no method has more levels


def _given(value: object, depth: int = DEPTH) -> object:
    """The fields of a request by the rules of ProtoJSON: a null is a missing field, and a field may have its proto name
    (`task_id`). A part of data may be null itself."""
    if depth and isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {
            _UNDERSCORE.sub(_capital, name): each if name in OPAQUE else _given(each, depth - 1)
            for name, each in fields.items()
            if each is not None or name == "data"
        }
    if depth and isinstance(value, list):
        return [_given(each, depth - 1) for each in cast("list[object]", value)]
    return value


def _capital(found: re.Match[str]) -> str:
    return found[1].upper()


@dataclass(slots=True)
class RpcCall:
    """`call_id` is None as long as the request was not understood, and for one without an id."""

    call_id: str | int | None = None
    method: str = ""
    params: object = None

    def take(self, body: bytes) -> None:
        """Read the request; the id first, so that an error has it. Raises RpcError."""
        try:
            request = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RpcError(RpcCode.PARSE_ERROR, f"the body is no JSON: {error}") from None
        if isinstance(request, list):
            raise RpcError(RpcCode.INVALID_REQUEST, "batch requests are not served: send one request at a time")
        if not isinstance(request, dict):
            raise RpcError(RpcCode.INVALID_REQUEST, "a JSON-RPC request is an object")
        self._take_fields(cast("dict[str, Any]", request))

    def _take_fields(self, request: dict[str, Any]) -> None:
        call_id, method = request.get("id"), request.get("method")
        if call_id is not None and type(call_id) not in (str, int):
            raise RpcError(RpcCode.INVALID_REQUEST, "id: a text, a whole number or null is expected")
        self.call_id = call_id
        if request.get("jsonrpc") != "2.0":
            raise RpcError(RpcCode.INVALID_REQUEST, 'jsonrpc: "2.0" is expected')
        if not isinstance(method, str) or not method:
            raise RpcError(RpcCode.INVALID_REQUEST, "method: a text is expected")
        self.method, self.params = method, request.get("params")

    @property
    def about(self) -> str:
        """The task that the parameters name, if they do, before anybody has looked at them."""
        fields = cast("dict[str, Any]", self.params) if isinstance(self.params, dict) else {}
        message = fields.get("message")
        of_message = cast("dict[str, Any]", message).get("taskId") or "new task" if isinstance(message, dict) else None
        return str(of_message or fields.get("taskId") or fields.get("id") or "")

    def read_params(self, kind: type[P]) -> P:
        """Raises RpcError, which names the field."""
        try:
            return msgspec.convert({} if self.params is None else _given(self.params), kind)
        except msgspec.ValidationError as error:
            raise RpcError(RpcCode.INVALID_PARAMS, f"params: {error}") from None

    def answer(self, result: object) -> bytes:
        return _encode({"jsonrpc": "2.0", "id": self.call_id, "result": result})

    def failure(self, error: RpcError) -> bytes:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": error.code.name, "domain": DOMAIN}
        told = {"code": int(error.code), "message": error.message, "data": [info]}
        return _encode({"jsonrpc": "2.0", "id": self.call_id, "error": told})
