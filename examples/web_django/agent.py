"""The worker's entry: Django is set up before anything that imports a model."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django.setup()

from shop.tasks import handlers  # noqa: E402 - after the setup

__all__ = ["handlers"]
