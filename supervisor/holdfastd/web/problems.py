"""Makes the documents that tell programs of an error (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import JSONResponse

API = "/api/"  # errors on paths that begin so are answered as problem documents
RETRY_AFTER = "1"  # seconds


class ProblemResponse(JSONResponse):
    media_type = "application/problem+json"


def problem(
    status: int, detail: str, kind: str = "", field: str = "", headers: Mapping[str, str] | None = None
) -> ProblemResponse:
    """A problem document. `kind`: the kind of the error, if the status does not say enough. `field`: the wrong input
    field."""
    content = {
        "type": f"urn:holdfast:{kind}" if kind else "about:blank",
        "title": kind.replace("-", " ").capitalize() if kind else HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    later = {"retry-after": RETRY_AFTER} if status in (429, 503) else {}
    return ProblemResponse(content | ({"field": field} if field else {}), status, {**later, **(headers or {})})
