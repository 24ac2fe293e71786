"""Mutants that no test can notice, because they do what the product does; each with its reason.

The sampler names a mutant by its file, its function, and the line before and after the change. A reason says why no
input makes a difference. It is written by somebody who has not read the tests of the place.
"""

from __future__ import annotations

from collections.abc import Mapping

EQUIVALENTS: Mapping[str, str] = {}
