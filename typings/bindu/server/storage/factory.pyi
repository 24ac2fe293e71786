from collections.abc import Awaitable, Callable
from typing import Any

create_storage: Callable[[str | None], Awaitable[Any]]
