"""Masks secrets in texts before they are shown: values that are known to be secret, and passwords in URLs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "***"
_LOGIN = re.compile(r"(://[^\s/@:\"\\]*:)[^\s/@\"\\]+@")


class SecretTexts:
    """Masks the values that were passed to `hide`. A process has one such object, and forked children inherit its
    values."""

    def __init__(self) -> None:
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def hide(self, values: Iterable[str]) -> None:
        """Mask these values from now on, also in their URL-quoted, JSON and `repr` forms."""
        self._forms |= {form for value in values if value for form in _forms(value)}
        longest_first = sorted(self._forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def mask(self, text: str) -> str:
        """The text with its secrets replaced by `***`."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        return _LOGIN.sub(rf"\1{HIDDEN}@", text) if "://" in text else text


def _forms(value: str) -> set[str]:
    return {value, quote(value, safe=""), json.dumps(value)[1:-1], repr(value)[1:-1]}


_process = SecretTexts()
hide, mask = _process.hide, _process.mask
