"""Lines that no honest end of a connection sends: for the tests of whatever reads lines that others write."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

BROKEN = (
    b"",
    b"\x00",
    b"nonsense",
    b"null",
    b"0",
    b'"text"',
    b"[]",
    b"{}",
    b"{",
    b"[" * 1500,
    b"[" * 1500 + b"]" * 1500,
    b'{"a":' * 1500 + b"0" + b"}" * 1500,
    b"\xff\xfe",
    b"\xed\xa0\x80",
)
VALUES = (
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e400",
    b"1e308",
    b"-1e308",
    b"0.5",
    b"9223372036854775808",
    b"-99999999999999999999999",
    b"9" * 1000,
    b'"\xff"',
    b'"\xed\xa0\x80"',
    b'"\\ud800"',
    b'"\\u0000\\u202e\\u001b[2J"',
    b'"' + b"x" * 3000 + b'"',
    b"[" * 1500 + b"]" * 1500,
    b'{"a":' * 1500 + b"0" + b"}" * 1500,
    b"[]",
    b"{}",
    b'["\xff"]',
    b'{"\xff":1}',
    b'{"\xc3\xa4":99999999999999999999}',
    b'["x",["y"]]',
)


def hostile_lines(honest: Sequence[bytes], count: int, chance: random.Random) -> Iterator[bytes]:
    """Lines without their ends: what is broken, then `count` that begin as these honest ones, with fields of another
    value, with other bytes, or cut."""
    yield from BROKEN
    yield from honest
    for line in honest:
        yield from (line.rstrip(b"}") + b',"further":' + value + b"}" for value in VALUES)
    for _ in range(count):
        yield _spoilt(chance.choice(honest), chance).replace(b"\n", b" ")


def _spoilt(line: bytes, chance: random.Random) -> bytes:
    match chance.randrange(6):
        case 0:
            at = chance.randrange(len(line))
            return line[:at] + chance.randbytes(chance.randrange(1, 4)) + line[at + 1 :]
        case 1:
            return line[: chance.randrange(len(line))]
        case 2:
            return chance.randbytes(chance.randrange(1, 200))
        case _:
            return _with_another_value(line, chance)


def _with_another_value(line: bytes, chance: random.Random) -> bytes:
    """The line with the value of one of its fields replaced."""
    colons = [at for at, byte in enumerate(line) if byte == ord(":")]
    if not colons:
        return chance.choice(VALUES)
    at = chance.choice(colons) + 1
    end = min((place for place in (line.find(b",", at), line.rfind(b"}")) if place >= at), default=len(line))
    return line[:at] + chance.choice(VALUES) + line[end:]
