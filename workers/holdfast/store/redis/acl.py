"""The rights that our user needs: every command that our operations run, inside scripts and outside of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.store.redis.keys import Keys

Command = tuple[str, ...]

# By the arguments after the key. A script runs with the rights of its caller.
_ON_KEYS: dict[str, Command] = {
    "BLPOP": ("1",),
    "BRPOP": ("1",),
    "DEL": (),
    "EXISTS": (),
    "GET": (),
    "GETRANGE": ("0", "1"),
    "HDEL": ("f",),
    "HEXISTS": ("f",),
    "HGET": ("f",),
    "HGETALL": (),
    "HINCRBY": ("f", "1"),
    "HKEYS": (),
    "HLEN": (),
    "HMGET": ("f",),
    "HSET": ("f", "v"),
    "HSETNX": ("f", "v"),
    "LINDEX": ("0",),
    "LINSERT": ("BEFORE", "v", "v"),
    "LLEN": (),
    "LPOP": (),
    "LPOS": ("v",),
    "LPUSH": ("v",),
    "LRANGE": ("0", "1"),
    "LREM": ("1", "v"),
    "LSET": ("0", "v"),
    "LTRIM": ("0", "1"),
    "PEXPIRE": ("1",),
    "RPOP": (),
    "RPUSH": ("v",),
    "SADD": ("m",),
    "SCARD": (),
    "SET": ("v",),
    "SISMEMBER": ("m",),
    "SMEMBERS": (),
    "SRANDMEMBER": (),
    "SREM": ("m",),
    "SSCAN": ("0",),
    "STRLEN": (),
    "TYPE": (),
    "UNLINK": (),
    "XADD": ("*", "f", "v"),
    "XRANGE": ("-", "+"),
    "XREVRANGE": ("+", "-"),
    "ZADD": ("1", "m"),
    "ZCARD": (),
    "ZCOUNT": ("0", "1"),
    "ZRANDMEMBER": (),
    "ZRANGE": ("0", "1"),
    "ZRANGEBYSCORE": ("0", "1"),
    "ZRANK": ("m",),
    "ZREM": ("m",),
    "ZREMRANGEBYRANK": ("0", "1"),
    "ZREMRANGEBYSCORE": ("0", "1"),
    "ZREVRANK": ("m",),
    "ZSCAN": ("0",),
    "ZSCORE": ("m",),
}
_ON_LANES = ("LINDEX", "LINSERT", "LLEN", "LPOP", "LPOS", "LPUSH", "LRANGE", "LREM", "LSET", "RPOP", "RPUSH")


def needed(keys: Keys, lanes: Sequence[str]) -> Iterator[tuple[str, Command]]:
    """The name of each command, and one call of it for ACL DRYRUN."""
    yield "EVALSHA", ("EVALSHA", "0" * 40, *map(str, keys.declared))
    yield "SCRIPT LOAD", ("SCRIPT", "LOAD", "return 1")
    yield "CLIENT SETNAME", ("CLIENT", "SETNAME", "x")
    yield "INFO", ("INFO", "server")
    yield "TIME", ("TIME",)
    yield "PING", ("PING",)
    if keys.in_cluster:
        yield "CLUSTER SLOTS", ("CLUSTER", "SLOTS")
    for name, rest in _ON_KEYS.items():
        yield f"{name} {keys.prefix}*", (name, f"{keys.prefix}x", *rest)
    yield f"RENAME {keys.prefix}*", ("RENAME", f"{keys.prefix}x", f"{keys.prefix}y")
    yield f"ZINTER {keys.prefix}*", ("ZINTER", "2", f"{keys.prefix}x", f"{keys.prefix}y")
    for lane in map(keys.lane, lanes):
        for name in _ON_LANES:
            yield f"{name} {lane}", (name, lane, *_ON_KEYS[name])
        yield f"BLMOVE {lane}", ("BLMOVE", lane, lane, "LEFT", "LEFT", "1")
    channels = keys.done("*")
    yield f"PUBLISH {channels}", ("PUBLISH", keys.done("x"), "v")
    yield f"SUBSCRIBE {channels}", ("SUBSCRIBE", keys.done("x"))
    yield f"PSUBSCRIBE {channels}", ("PSUBSCRIBE", channels)
