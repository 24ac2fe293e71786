"""Hashes of passwords, made with scrypt: `scrypt$N$R$P$SALT$KEY`, where SALT and KEY are base64."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

N, R, P = 1 << 14, 8, 5  # 16 MiB, and about a quarter of a second: one of the recommended sets of OWASP
MOST_MEMORY = 64 << 20  # bytes that a hash of the file may ask for
SALT_BYTES = 16
KEY_BYTES = 32
SHORTEST = 8  # characters of a password
LONGEST = 1024


def make(password: str) -> str:
    """Hashes a password with a new salt."""
    salt = secrets.token_bytes(SALT_BYTES)
    return _written(N, R, P, salt, _key(password, salt, N, R, P))


def unknown() -> str:
    """The hash of a random password. Checking an unknown user against it takes as long as checking a known one."""
    return _written(N, R, P, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(KEY_BYTES))


def matches(password: str, written: str) -> bool:
    """True if the password is right; a wrong one takes as long to check. Raises ValueError if `text` is no hash."""
    n, r, p, salt, key = parse(written)
    return hmac.compare_digest(_key(password, salt, n, r, p), key)


def parse(written: str) -> tuple[int, int, int, bytes, bytes]:
    """N, R, P, the salt and the key. Raises ValueError if the text is no hash, or checking it needs too much memory."""
    try:
        kind, *numbers, salt, key = written.split("$")
        n, r, p = map(int, numbers)
        parts = n, r, p, base64.b64decode(salt, validate=True), base64.b64decode(key, validate=True)
    except (ValueError, binascii.Error):
        raise ValueError("is no hash that `supervisor web-user` has made") from None
    is_known = kind == "scrypt" and min(r, p) >= 1 and p <= 20 and len(parts[4]) == KEY_BYTES
    if not is_known or n & (n - 1) or not 1 < n < 1 << min(16 * r, 64) or 128 * r * (n + p + 2) > MOST_MEMORY:
        raise ValueError("is no hash that `supervisor web-user` has made")
    return parts


def _key(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"), salt=salt, n=n, r=r, p=p, maxmem=2 * MOST_MEMORY, dklen=KEY_BYTES
    )


def _written(n: int, r: int, p: int, salt: bytes, key: bytes) -> str:
    return "$".join(("scrypt", *map(str, (n, r, p)), *(base64.b64encode(part).decode() for part in (salt, key))))
