"""The measures of a subject, one file each: a function from a subject to figures by name."""

from __future__ import annotations

Figures = dict[str, float]
