"""A handler that lets secrets slip in every way: it prints, logs, warns and raises them."""

from __future__ import annotations

import logging
import os
import warnings

from holdfast import Task

if "LEAK_AT_IMPORT" in os.environ:
    raise RuntimeError(f"cannot reach {os.environ['REDIS_URL']}")


async def handle(messages: list[dict[str, object]], task: Task) -> None:
    for name in ("REDIS_URL", "OPENAI_API_KEY", "GITHUB_TOKEN", "APP_SECRET", "HOLDFAST_WEBHOOK_URL"):
        print(f"{name}={os.environ[name]}")
        warnings.warn(os.environ[name], stacklevel=1)
        logging.getLogger("leaky").warning("with %s", os.environ[name])
        task.logger.info("sent", value=os.environ[name], nested={"values": [os.environ[name]]})
    try:
        raise ConnectionError(f"cannot reach {os.environ['REDIS_URL']}")
    except ConnectionError:
        logging.getLogger("leaky").exception("failed")
    raise RuntimeError(f"{os.environ['REDIS_URL']} refuses {os.environ['OPENAI_API_KEY']}: {len(messages)}")
