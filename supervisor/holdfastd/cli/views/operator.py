"""The name of the operator who types a command."""

from __future__ import annotations

import getpass
import socket


def operator() -> str:
    """The user and host of this command."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in a container
        user = "somebody"
    return f"{user}@{socket.gethostname()}"
