"""Where clients want to be told of a task, as it is kept beside the task; the steward sends it as it sends webhooks."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from holdfast_config import addresses
from holdfastd.a2a.rpc_errors import RpcCode, RpcError

MOST = 10  # of one task
LONGEST = 1000  # characters of an id, a token, credentials

_PLAIN = re.compile(r"[\x20-\x7e]*")
_SCHEME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{0,50}")


class PushTarget(msgspec.Struct, frozen=True):
    """Sent with `X-A2A-Notification-Token: token` and, if it has a scheme, `Authorization: scheme credentials`, in the
    words of `version`."""

    target_id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""
    version: str = "1.0"

    @property
    def headers(self) -> dict[str, str]:
        given = {"X-A2A-Notification-Token": self.token} if self.token else {}
        if self.scheme and self.credentials:
            given["Authorization"] = f"{self.scheme} {self.credentials}"
        if self.version == "1.0":
            given["Content-Type"] = "application/a2a+json"
        return given


class _KeptTargets(msgspec.Struct):
    """Beside other applications' settings of webhooks, which have no such key."""

    a2a: list[PushTarget] = []


def read_targets(kept: bytes | None) -> list[PushTarget]:
    """None for settings that another application keeps."""
    try:
        return msgspec.json.decode(kept or b"{}", type=_KeptTargets).a2a
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def spelled_targets(targets: Sequence[PushTarget]) -> bytes:
    return msgspec.json.encode(_KeptTargets(list(targets)))


def with_target(targets: Sequence[PushTarget], target: PushTarget) -> list[PushTarget]:
    """With this one, in the place of one with its id. Raises RpcError for one that cannot be, or is one too many."""
    _check(target)
    others = [each for each in targets if each.target_id != target.target_id]
    if len(others) >= MOST:
        raise RpcError(RpcCode.INVALID_PARAMS, f"a task has at most {MOST} push notification settings")
    return [*others, target]


def _check(target: PushTarget) -> None:
    try:
        addresses.parse_webhook(target.url)
    except ValueError as error:
        raise RpcError(RpcCode.INVALID_PARAMS, f"url of the push notification settings: {error}") from None
    for what, value in (("id", target.target_id), ("token", target.token), ("credentials", target.credentials)):
        if len(value) > LONGEST or not _PLAIN.fullmatch(value):
            text = f"{what} of the push notification settings: at most {LONGEST} printable ASCII characters"
            raise RpcError(RpcCode.INVALID_PARAMS, text)
    if not _SCHEME.fullmatch(target.scheme):
        raise RpcError(RpcCode.INVALID_PARAMS, "scheme of the push notification settings: a scheme of HTTP as Bearer")
