"""An agent that asks and sleeps: it drafts a reminder, asks for consent, waits until it is time, then sends it.

`supervisor start examples.reminder:handlers`, then
`supervisor submit --wait --task-id r1 --name remind --data '{"about": "the rent", "hours": 0.001}'` and, once it has
asked, `supervisor submit --wait --task-id r1 yes`. It holds no worker while it waits, and a worker that dies costs it
no second draft and no second question.
"""

from __future__ import annotations

from holdfast import Handlers, Task

handlers = Handlers()


@handlers.register("remind")
async def remind(task: Task, about: str, hours: float) -> str:
    """Each later run comes by what is recorded, and goes on behind it."""
    draft = await task.step("draft", write, about)
    answer = await task.question(f"Send {draft!r} in {hours:g} hours?")
    if str(answer).strip().lower() not in ("yes", "y"):
        return "not sent"
    await task.sleep(hours=hours)
    return await task.step("send", send, draft)


def write(about: str) -> str:
    """In the place of a model, which is asked once."""
    return f"Do not forget {about}."


def send(draft: str) -> str:
    return f"sent: {draft}"
