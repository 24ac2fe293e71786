"""What keeps a service with these settings from starting on this host, however well it is configured otherwise."""

from __future__ import annotations

from importlib.util import find_spec

from holdfast_config import Settings
from holdfastd.core import room
from holdfastd.parent import host

BOTH = "a preloaded handler is never loaded anew: leave out --preload or --reload"
NO_LIBRARY = "--reload needs the library watchfiles: pip install 'holdfast[reload]'"


def refusal(settings: Settings) -> str:
    """One line, or empty. Makes the most of what the limits on this process allow."""
    host.raise_descriptors()
    if settings.reload and settings.preload:
        return BOTH
    if settings.reload and find_spec("watchfiles") is None:
        return NO_LIBRARY
    return room.refusal(host.measure(), 0, settings.workers)
