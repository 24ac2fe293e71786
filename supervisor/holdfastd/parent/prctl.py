"""Linux process attributes that Python has no call for. A setter returns True if the kernel accepted the value."""

from __future__ import annotations

import ctypes
import signal

_SET_PDEATHSIG = 1
_SET_NAME = 15
_GET_PDEATHSIG = 2
_SET_CHILD_SUBREAPER = 36
_GET_CHILD_SUBREAPER = 37
_SET_NO_NEW_PRIVS = 38

NAME_BYTES = 15

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: signal.Signals) -> bool:
    """Have the kernel send signal `number` to this process when the thread that forked it ends. The thread may end
    before this call, so check the parent's pid afterwards."""
    return _prctl(_SET_PDEATHSIG, int(number))


def become_subreaper() -> bool:
    """Have orphans among the descendants of this process become its children, not children of init."""
    return _prctl(_SET_CHILD_SUBREAPER, 1)


def gain_no_rights() -> bool:
    """Forbid this process to gain rights by executing a program: set-user-ID bits then have no effect."""
    return _prctl(_SET_NO_NEW_PRIVS, 1)


def knows_parents_death() -> bool:
    """True if `die_with_parent` works on this kernel."""
    return _can_be_asked(_GET_PDEATHSIG)


def knows_subreapers() -> bool:
    """True if `become_subreaper` works on this kernel."""
    return _can_be_asked(_GET_CHILD_SUBREAPER)


def set_name(name: str) -> bool:
    """Set the name that `ps -o comm` and `top` show; it is cut at 15 bytes."""
    return _prctl(_SET_NAME, ctypes.c_char_p(name.encode()[:NAME_BYTES]))


def _can_be_asked(option: int) -> bool:
    answer = ctypes.c_int()
    return bool(_libc.prctl(option, ctypes.byref(answer), 0, 0, 0) == 0)


def _prctl(option: int, value: int | ctypes.c_char_p) -> bool:
    argument = ctypes.c_ulong(value) if isinstance(value, int) else value
    return bool(_libc.prctl(option, argument, ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)) == 0)
