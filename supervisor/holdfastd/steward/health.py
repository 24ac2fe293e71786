"""Health records which duties of the steward fail, for one line in `status`."""

from __future__ import annotations

import structlog

_log = structlog.get_logger("holdfast.steward")


class Health:
    """`outages` counts calls that did not reach the store; ClockWatch compares it."""

    def __init__(self) -> None:
        self.outages = 0
        self._troubles: dict[str, str] = {}

    @property
    def degraded(self) -> str:
        """The oldest trouble that persists, or empty."""
        return next(iter(self._troubles.values()), "")

    def clear(self, duty: str) -> None:
        if self._troubles.pop(duty, None) and not self._troubles:
            _log.info("steward is no longer degraded", duty=duty)

    def report(self, duty: str, trouble: str) -> None:
        """Record why a duty fails; logged if no duty has this trouble yet."""
        if trouble not in self._troubles.values():
            _log.warning("steward is degraded", duty=duty, reason=trouble)
        self._troubles[duty] = trouble

    def report_unreachable(self, duty: str, trouble: str) -> None:
        """Record that a duty fails because the store cannot be reached."""
        self.outages += 1
        self.report(duty, trouble)
