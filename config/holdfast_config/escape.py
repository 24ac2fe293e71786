"""Untrusted text made safe for a terminal: what is not printable is spelled out, so it can neither act nor hide."""

from __future__ import annotations


def escape(text: str, keep: str = "") -> str:
    r"""The text with control characters, escapes and invisible marks as `\x1b`; those in `keep` stay."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else repr(char)[1:-1] for char in text)
