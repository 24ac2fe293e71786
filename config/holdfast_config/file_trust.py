"""Checks the mode of settings files. A file that other users can write is an error. A file with a secret that other
users can read is worth a warning."""

from __future__ import annotations

import errno
import grp
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast_config.names import PASSWORDS
from holdfast_config.origin import ValueWithOrigin
from holdfast_config.redis_urls import mask
from holdfast_config.trust import ROOT, user


def judge(path: Path, given: Mapping[str, ValueWithOrigin], *, strict: bool) -> tuple[list[str], list[str]]:
    """Check the mode of a settings file. Returns problems, which are errors, and warnings. `given`: the settings in the
    file.

    `strict`: the caller is root or a service, so that write access of the group is an error, too. A pipe or a device is
    not checked.
    """
    problems: list[str] = []
    warnings: list[str] = []
    try:
        status = path.stat()
    except OSError:  # the reader of the file reports it
        return problems, warnings
    if not stat.S_ISREG(status.st_mode):
        return problems, warnings
    mode = f"mode {stat.S_IMODE(status.st_mode):o}"
    if status.st_mode & stat.S_IWOTH:
        problems.append(f"{path}: everybody can write it ({mode}): chmod o-w {path}")
    elif status.st_mode & stat.S_IWGRP:
        (problems if strict else warnings).append(f"{path}: its group can write it ({mode}): chmod g-w {path}")
    if status.st_mode & stat.S_IROTH and (secrets := [given[name].key for name in _secrets(given)]):
        keys = ", ".join(key.removesuffix(f" (in {path})") for key in secrets)
        warnings.append(f"{path}: everybody can read it ({mode}), and it holds {keys}: chmod o-r {path}")
    return problems, warnings


def is_strict(is_service: bool) -> bool:
    """True if the caller is root or a service. A user who could change such a caller's settings would gain the rights
    of the caller."""
    return is_service or os.geteuid() == 0


def _secrets(given: Mapping[str, ValueWithOrigin]) -> Iterable[str]:
    """Yield the names of the settings that hold a secret: passwords, and URLs with a login."""
    for name, origin in given.items():
        if name in PASSWORDS or (
            isinstance(origin.value, str) and "://" in origin.value and mask(origin.value) != origin.value
        ):
            yield name


# Find the users who could change what root runs: the owners of files with code or settings, and of all folders and
# links on the path to them.
#
# Root has more rights than any other user, so only root may be able to change what root runs. Another user can change
# it if a file, a folder or a link on the path belongs to this user, or if others can write there: this user could put
# another file in its place. A sticky folder, such as /tmp, may be on the path to a file of root, because there nobody
# else can replace the file.
#
# A service of another user has only the rights of this user, so its code is not checked.

ANYBODY = -1  # stands for the owner of a file or folder that other users can write
MOST_LINKS = 40  # symbolic links on one path that are followed: the kernel's limit

_LOCAL = Path("/usr/local")
_LOCAL_GROUP = "staff"  # on Debian this group may write to /usr/local, so it counts as root there


@dataclass(frozen=True, slots=True)
class Stranger:
    """A file or folder that a user other than root can change. `owner`: the id of this user, or ANYBODY. `why`: the
    reason, as the end of a sentence that begins with the path."""

    path: Path
    owner: int
    why: str

    def __str__(self) -> str:
        return f"{self.path} {self.why}"


def concerns_caller() -> bool:
    """True if the caller is root: code in a file of another user would then run with root's rights."""
    return os.geteuid() == ROOT


def strangers(paths: Iterable[Path], trusted: Collection[Path] = ()) -> Iterator[Stranger]:
    """Yield a Stranger for every place by which a user other than root can change these files or folders. Files below a
    `trusted` folder are not checked, nor are the folders on the path to such a folder."""
    roots = {each for path in trusted for each in (path.absolute(), Path(os.path.realpath(path)))}
    seen: set[Path] = set()
    for path in dict.fromkeys(paths):
        end = Path(os.path.realpath(path))
        above = {folder for root in roots if end.is_relative_to(root) for folder in root.parents}
        for each in _way(path):
            if (each in seen and each != end) or each in above or any(each.is_relative_to(root) for root in roots):
                continue
            seen.add(each)
            yield from _judged(each, is_end=each == end)


def _way(path: Path) -> Iterator[Path]:
    """Yield the file, and all folders and links on the path to it, as far as they exist."""
    here, links = Path("/"), 0
    yield here
    left = list(reversed(path.absolute().parts[1:]))
    while left:
        part = left.pop()
        if part == "..":
            here = here.parent
            continue
        following = here / part
        yield following
        try:
            leads_to = following.readlink()
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: no link. Any other error: there is no such file or folder
                return
            here = following
            continue
        links += 1
        if links > MOST_LINKS:
            return
        if leads_to.is_absolute():
            here, leads_to = Path("/"), leads_to.relative_to("/")
        left += reversed(leads_to.parts)


def _judged(path: Path, *, is_end: bool) -> Iterator[Stranger]:
    try:
        status = path.lstat()
    except OSError:  # the file does not exist
        return
    if status.st_uid != ROOT:
        yield Stranger(path, status.st_uid, f"belongs to {user(status.st_uid)}")
    elif not stat.S_ISLNK(status.st_mode) and _is_open(path, status, is_end=is_end):
        yield Stranger(path, ANYBODY, f"can be written by others (mode {stat.S_IMODE(status.st_mode):o})")


def _is_open(path: Path, status: os.stat_result, *, is_end: bool) -> bool:
    """True if other users can replace this file or folder, or write into it. A sticky folder counts as open only at the
    end of the path."""
    by_others = bool(status.st_mode & stat.S_IWOTH)
    by_group = bool(status.st_mode & stat.S_IWGRP) and status.st_gid not in _groups_of_root(path)
    is_sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)
    return (by_others or by_group) and (is_end or not is_sticky) and not stat.S_ISCHR(status.st_mode)


def _groups_of_root(path: Path) -> set[int]:
    groups = {ROOT}
    if path.is_relative_to(_LOCAL):
        with suppress(KeyError):
            groups.add(grp.getgrnam(_LOCAL_GROUP).gr_gid)
    return groups
