"""Settings and logging of Holdfast; the only reader of the environment."""

from holdfast_config.errors import ConfigError
from holdfast_config.load import load
from holdfast_config.redis_settings import RedisSettings
from holdfast_config.redis_urls import mask
from holdfast_config.settings import Settings

__all__ = ["Settings", "RedisSettings", "ConfigError", "load", "mask"]
