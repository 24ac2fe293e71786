"""Holdfast as the scheduler and the storage of an application made with the framework `bindu`.

    scheduler, storage = connect(redis_url="redis://…")
    async with TaskManager(scheduler=scheduler, storage=storage) as manager: ...

`bindufy` makes its own scheduler and storage: call `install` before it, and it uses these. This package needs Python
3.12 or later, and the extra: pip install 'holdfast-supervisor[bindu]'.
"""

from __future__ import annotations

from holdfast.errors import MissingFrameworkError

try:
    from holdfast.bindu.connect import SchedulerAndStorage, connect, install
    from holdfast.bindu.scheduler import HoldfastScheduler
    from holdfast.bindu.storage import HoldfastStorage
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "bindu":
        raise
    advice = "holdfast.bindu needs the package bindu, on Python 3.12 or later: pip install 'holdfast-supervisor[bindu]'"
    raise MissingFrameworkError(advice) from None

__all__ = ["connect", "install", "SchedulerAndStorage", "HoldfastScheduler", "HoldfastStorage"]
