from holdfast import Handlers, Task

handlers = Handlers()


@handlers.register("make_report")
async def make_report(task: Task, region: str, year: int) -> dict[str, int]:
    task.progress(1, 2)
    total = await task.step("count", sum, range(year))
    return {region: total}


@handlers.register("charge", max_attempts=1)
def charge(order: int, cents: int) -> str:
    if cents > 10_000:
        raise ValueError("the card was declined")
    return f"receipt {order}"
