"""The former place of `holdfast.read_result`, for one release."""

from __future__ import annotations

from holdfast.core.result_document import Result, read_result

__all__ = ["Result", "read_result"]
