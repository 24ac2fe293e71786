"""The settings and the logging of Holdfast. No other package reads the environment."""

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
    from holdfast_config.resolve import load  # imported late: its libraries would use memory in every worker

    return load
