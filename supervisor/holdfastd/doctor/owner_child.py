"""Imports code that is not root's as its owner does, when root asks: in a process of that user.

The process is a new interpreter: a fork of root's would have in its memory what root's has. It gets no secret of the
settings, a few variables, no terminal, and no way to more rights.
"""

from __future__ import annotations

import os
import pickle
import pwd
import signal
import socket
import sys
from collections.abc import Sequence

import msgspec

from holdfast_config import Settings, names
from holdfast_config.file_trust import ANYBODY, Stranger
from holdfast_config.standard_error import STREAM
from holdfast_config.trust import user
from holdfastd.doctor.handler_child import STDERR, STDOUT, import_handler
from holdfastd.doctor.handler_import import NotImported
from holdfastd.parent import prctl
from holdfastd.parent.child_setup import INCARNATION_VARIABLE

NO_GROUP = 65_534
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", INCARNATION_VARIABLE)

_PROGRAM = "import sys; from holdfastd.doctor.owner_child import main; main(*map(int, sys.argv[1:]))"


def owner_of(found: Sequence[Stranger]) -> int | NotImported:
    """The one user whose code it is. The reason why there is none where several decide what is imported."""
    owners = {each.owner for each in found}
    if len(owners) == 1 and ANYBODY not in owners:
        return owners.pop()
    first = next((each for each in found if each.owner == ANYBODY), found[0])
    return NotImported(f"{first}, so nobody knows whose code it is: root does not import it, under any user")


def import_as(owner: int, settings: Settings, channel: socket.socket) -> int:
    """Become the owner and import the handler in a new interpreter; returns only if there is none for this user."""
    given = os.memfd_create("settings")
    with os.fdopen(os.dup(given), "wb") as file:
        pickle.dump(settings.model_copy(update=dict.fromkeys((*names.SECRETS, "webhook_url"))), file)
    os.lseek(given, 0, os.SEEK_SET)
    _leave_terminal()
    environ = _become(owner)
    for descriptor in (given, channel.fileno()):
        os.set_inheritable(descriptor, True)
    words = [sys.executable, "-c", _PROGRAM, str(given), str(channel.fileno())]
    try:
        os.execve(sys.executable, words, environ)  # noqa: S606 - no shell is wanted
    except OSError as error:
        why = f"{user(owner)}, whose code it is, cannot run {sys.executable}: {error.strerror}"
        channel.sendall(msgspec.json.encode(NotImported(f"{why}: so no service of that user can")) + b"\n")
        return 1


def main(given: int, channel: int) -> None:
    """Runs in the new interpreter."""
    with os.fdopen(given, "rb") as file:
        settings: Settings = pickle.load(file)  # noqa: S301 - written by our own parent
    import_handler(settings, socket.socket(fileno=channel))


def _leave_terminal() -> None:
    """Closes the terminal of root to the imported code, which could type into it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in {STDOUT, STDERR, STREAM.descriptor()}:
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _become(owner: int) -> dict[str, str]:
    """Take all rights of this user and no others; the variables of its processes."""
    environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        entry = pwd.getpwuid(owner)
    except KeyError:  # a number without a name, as in containers
        group, groups = NO_GROUP, list[int]()
    else:
        group, groups = entry.pw_gid, os.getgrouplist(entry.pw_name, entry.pw_gid)
        environ |= {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}
    os.setgroups(groups)
    os.setresgid(group, group, group)
    os.setresuid(owner, owner, owner)
    prctl.gain_no_rights()
    prctl.die_with_parent(signal.SIGTERM)  # forgotten by the kernel when the user changes
    return environ
