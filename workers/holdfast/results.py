"""The former place of `holdfast.read_result`, for one release."""

from __future__ import annotations

from holdfast.client.results import Result, read_result

__all__ = ["Result", "read_result"]
