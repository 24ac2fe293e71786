from collections.abc import Awaitable, Callable
from typing import Any

create_scheduler: Callable[[Any], Awaitable[Any]]
