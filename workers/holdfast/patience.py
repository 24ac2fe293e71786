"""The former name of `holdfast.SubmitRetries`, for one release."""

from __future__ import annotations

from holdfast.client.submit_retries import SubmitRetries as Patience

__all__ = ["Patience"]
