"""Whether the steward can do its duties: what keeps which duty from its work, in one line for `status`."""

from __future__ import annotations

import structlog

_log = structlog.get_logger("holdfast.steward")


class Health:
    """`outages` counts calls that did not reach the store: who believes in leases compares it."""

    def __init__(self) -> None:
        self.outages = 0
        self._troubles: dict[str, str] = {}

    @property
    def degraded(self) -> str:
        """The oldest trouble that lasts, or empty."""
        return next(iter(self._troubles.values()), "")

    def well(self, duty: str) -> None:
        if self._troubles.pop(duty, None) and not self._troubles:
            _log.info("steward is well again", duty=duty)

    def ailing(self, duty: str, trouble: str) -> None:
        """Note why a duty cannot be done; logged when it is the first or another trouble."""
        if trouble not in self._troubles.values():
            _log.warning("steward is degraded", duty=duty, trouble=trouble)
        self._troubles[duty] = trouble

    def away(self, duty: str, trouble: str) -> None:
        """The same, because the store could not be reached."""
        self.outages += 1
        self.ailing(duty, trouble)
