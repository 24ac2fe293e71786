"""Stands in for the package that redis-py asks for before Python 3.11.3: the system's own may be as old."""

from asyncio import timeout

__all__ = ["timeout"]
