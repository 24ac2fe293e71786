"""Settings and logging of Holdfast; the only reader of the environment."""

from typing import TYPE_CHECKING

from holdfast_config.errors import ConfigError
from holdfast_config.redis_urls import mask
from holdfast_config.settings import Settings
from holdfast_config.store_settings import RedisSettings

if TYPE_CHECKING:
    from holdfast_config.resolve import load

__all__ = ["Settings", "RedisSettings", "ConfigError", "load", "mask"]


def __getattr__(name: str) -> object:
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from holdfast_config.resolve import load  # its libraries are not for the memory that workers share

    return load
