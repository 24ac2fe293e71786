from typing import Any

from agent import make_report
from flask import Flask, abort, request

from holdfast.errors import InvalidTaskError, UnknownTaskError
from holdfast.sync import TaskManager
from holdfast_config import load

app = Flask(__name__)
settings = load()  # REDIS_URL, supervisor.toml …, as the workers read them
manager = TaskManager(settings.redis, database=settings.postgres)  # connects with its first call, after any fork


@app.post("/reports")
def submit() -> tuple[dict[str, str], int]:
    wanted = request.get_json()
    try:
        sent = make_report.submit_sync(wanted["region"], wanted["year"])
    except (InvalidTaskError, KeyError) as error:
        abort(422, str(error))
    return {"task": sent.task_id, "status": f"/reports/{sent.task_id}"}, 202


@app.get("/reports/<task_id>")
def status(task_id: str) -> dict[str, Any]:
    try:
        record = manager.get_task(task_id)
    except UnknownTaskError:
        abort(404)
    return {
        "state": record.state,
        "progress": record.progress,
        "value": record.value,
        "error": record.error and record.error.message,
    }
