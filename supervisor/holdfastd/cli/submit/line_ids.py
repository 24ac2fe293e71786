"""Derives the id of a line's task, so that the same lines submitted again are the same tasks.

The id comes from the source of the lines (the path of the file, or --key), the options of the command, the number of
the line and its bytes. A line that was mended is another task; two files with the same lines are different tasks.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import BinaryIO

import msgspec

from holdfast.client.task_spec import TaskSpec
from holdfast.core.identity import uuid_text

OF_THE_LINE = ("task_id", "key", "debounce", "unique")  # with one of these the line itself says which task it is


class LineIds:
    """Gives tasks their ids. `template`: the options of the command."""

    def __init__(self, source: str, template: TaskSpec) -> None:
        self._prefix = hashlib.sha1(os.fsencode(source) + b"\0" + ascii(template).encode(), usedforsecurity=False)

    def identified(self, spec: TaskSpec, number: int, content: bytes) -> TaskSpec:
        """The task of this line with its id, unless the line has one or says otherwise which task it is."""
        if any(getattr(spec, name) is not None for name in OF_THE_LINE):
            return spec
        digest = self._prefix.copy()
        digest.update(b"\0%d\0%b" % (number, content))
        return msgspec.structs.replace(spec, task_id=uuid_text(digest.digest(), 5))


def path_of(stream: BinaryIO) -> str | None:
    """The path of the file that is read; None for standard input and for what is no file, such as a pipe."""
    if stream.name == "<stdin>" or not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return None
    return os.path.realpath(stream.name)
