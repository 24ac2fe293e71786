"""The numbers a parent supervises by, in seconds; those without a setting are constants here."""

from __future__ import annotations

from dataclasses import dataclass

SILENCE = 5.0  # a child that is silent this long has its stacks dumped
ABORT_GRACE = 2.0  # from SIGABRT to SIGKILL
HALT_LIMIT = 30.0  # a child that was stopped and continued must be heard of within this
STEWARD_LEAVE = 5.0  # for the last acknowledgements
STORE_LEAVE = 10.0  # for the store to write what it holds
CANCEL_SHARE = 0.1  # of the drain timeout, kept for cancelled handlers to save a checkpoint
CANCEL_MOST = 5.0
ROUND = 1.0  # how often children report, and how often the parent looks
LATE = 5.0  # a parent that was itself kept from looking for longer accuses nobody
RETELL = 10.0  # an unacknowledged death is told again
QUARANTINE_SHARE = 4  # a quarter of the pool is the most that runs suspects beside it
SUSPECTS_FRESH = 5.0  # a number of suspects that the steward has not repeated for longer says nothing
BATCH = 16  # forks in one round, so that signals and clients are served in between


@dataclass(frozen=True, slots=True)
class SupervisionPolicy:
    """What an operator can set, and whether the parent looks after a store of its own."""

    drain_timeout: float = 90.0
    hang_timeout: float = 60.0
    boot_timeout: float = 60.0
    embedded: bool = False
    watched: bool = False  # a watcher asks for reloads
    preloaded: bool = False  # forks share the parent's import of the handler: no reload can bring new code

    @property
    def cancel_grace(self) -> float:
        """How long before the end of a drain handlers are cancelled."""
        return min(CANCEL_MOST, self.drain_timeout * CANCEL_SHARE)
