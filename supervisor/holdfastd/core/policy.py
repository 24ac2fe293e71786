"""The timeouts and limits of supervision, in seconds; those without a setting are constants here."""

from __future__ import annotations

from dataclasses import dataclass

SILENCE = 5.0  # a child that is silent this long has its stacks dumped, and a worker what it has not begun put back
ABORT_GRACE = 2.0  # from SIGABRT to SIGKILL
SIGSTOP_LIMIT = 30.0  # a child that was stopped and continued must report within this time
STEWARD_LEAVE = 5.0  # for the last acknowledgements
STORE_LEAVE = 10.0  # for the store to write what it holds
CANCEL_SHARE = 0.1  # of the drain timeout, kept for cancelled handlers to save a checkpoint
CANCEL_MOST = 5.0
ROUND = 1.0  # how often children report, and how often the parent looks
LATE = 5.0  # after a longer delay of the parent itself no silence is judged
RESEND_DEATHS_EVERY = 10.0  # an unacknowledged death is sent again
QUARANTINE_SHARE = 4  # at most a quarter of the pool's size runs suspects beside it
SUSPECTS_FRESH = 5.0  # a number of suspects is ignored when the steward has not repeated it for this long
BATCH = 16  # forks in one round, so that signals and clients are served in between


@dataclass(frozen=True, slots=True)
class SupervisionPolicy:
    """The limits that an operator can set, and which services the parent runs."""

    drain_timeout: float = 90.0
    hang_timeout: float = 60.0
    boot_timeout: float = 60.0
    embedded: bool = False
    watched: bool = False  # a watcher asks for reloads
    web: bool = False  # a web process serves the dashboard
    preloaded: bool = False  # a loader imports the handler once, and forks the workers

    @property
    def cancel_grace(self) -> float:
        """Seconds before the end of a drain at which handlers are cancelled."""
        return min(CANCEL_MOST, self.drain_timeout * CANCEL_SHARE)
