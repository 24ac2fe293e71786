"""Converts the errors of Redis and of its library to Holdfast's errors."""

from __future__ import annotations

from redis import exceptions

from holdfast.errors import ConnectionLimitError, StoreError, StoreFullError, StoreRefusedError, StoreUnavailableError

# Answers of a server that cannot serve now: waiting mends each of them.
_PASSING = ("LOADING", "BUSY", "READONLY", "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN", "ASK", "UNBLOCKED")
_UNSAVED = "MISCONF"  # the disk is full or broken; Redis goes on by itself once that is mended
_ELSEWHERE = (exceptions.MovedError, exceptions.ClusterCrossSlotError)  # our own client of Clusters follows the first
_REFUSING = ("NOPERM", "NOAUTH", "WRONGPASS")


_NO_DATABASE = "DB index is out of range"


def _behind(error: exceptions.RedisError) -> exceptions.RedisError:
    """The original error of a failed login: the library wraps it in a connection error. Any other error is returned
    itself."""
    cause = error.__cause__
    return cause if isinstance(cause, exceptions.RedisError) else error


def is_passing(error: exceptions.RedisError) -> bool:
    """True if the same call may succeed later, for example because the server still loads its data. The library strips
    known first words (such as LOADING) from an error; errors inside scripts keep them."""
    text = str(error)
    first = error.status_code or text.split(" ", 1)[0]
    return first in _PASSING or any(f" {word} " in text[:200] for word in _PASSING)


def node_of_cluster(url: str) -> str:
    """The error text for a URL that names one node of a Cluster."""
    return (
        f"Redis at {url} is a node of a Cluster, and slots move; "
        "use redis+cluster://host:port,host:port (rediss+cluster:// with TLS)"
    )


def _mistake(error: exceptions.RedisError, text: str, url: str) -> str:
    """The error text if the reason is a wrong URL, or a key of another type; else empty."""
    if type(error) in _ELSEWHERE:
        return node_of_cluster(url)
    if isinstance(error, exceptions.InvalidResponse):
        return f"{url} is no Redis: it answers {text}"
    if "WRONGTYPE" in text[:200]:
        return f"Redis at {url}: a key of this queue or of its lanes is of another type: {text}"
    return f"Redis at {url} has no such database: {text}" if text.startswith(_NO_DATABASE) else ""


def _is_local(error: exceptions.RedisError) -> bool:
    """True if this process had no free connection, so that nothing was sent."""
    return isinstance(error, exceptions.MaxConnectionsError) or str(error) == "No connection available."


def _meaning(error: exceptions.RedisError, url: str) -> StoreError:
    error = _behind(error)
    text = str(error)
    if isinstance(error, exceptions.AuthenticationError | exceptions.NoPermissionError) or text.startswith(_REFUSING):
        return StoreRefusedError(f"Redis at {url} refuses this user: {text.rstrip('.')}; check user, password and ACL")
    if isinstance(error, exceptions.OutOfMemoryError) or "OOM" in text[:64]:
        return StoreFullError(f"Redis at {url} is out of memory: {text}")
    if _is_local(error):
        return ConnectionLimitError(
            f"all connections to Redis at {url} that this process may open are in use; raise --redis-max-connections, "
            "or do less at a time"
        )
    if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | exceptions.ReadOnlyError):
        return StoreUnavailableError(f"Redis at {url} cannot be reached: {text.rstrip('.') or type(error).__name__}")
    if _UNSAVED in text[:200]:
        return StoreUnavailableError(f"Redis at {url} cannot write to its disk, and refuses tasks until it can: {text}")
    if mistake := _mistake(error, text, url):
        return StoreRefusedError(mistake)
    if is_passing(error):
        return StoreUnavailableError(f"Redis at {url} cannot serve now: {text}")
    return StoreError(f"Redis at {url} answers: {text}")


class Explained:
    """A block that raises Redis's errors as Holdfast's errors. `url`: the address in error texts, without the password.
    This is a class and not a generator, because it surrounds every command and must cost little."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, exceptions.RedisError):
            raise _meaning(error, self._url) from _behind(error)
        if isinstance(error, OSError):  # TimeoutError is one
            text = f"Redis at {self._url} cannot be reached: {error or type(error).__name__}"
            raise StoreUnavailableError(text) from error
