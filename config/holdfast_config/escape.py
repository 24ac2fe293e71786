"""Makes untrusted text safe for a terminal: unprintable characters are escaped."""

from __future__ import annotations


def escape(text: str, keep: str = "") -> str:
    r"""Returns the text with control and invisible characters escaped, as in `\x1b`, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text)
