from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent import charge, make_report
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import BaseModel

from holdfast import create_broker
from holdfast.errors import MessageConflictError, StoreUnavailableError, TaskFailed, UnknownTaskError


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with create_broker() as broker:  # in each process, after any fork; .submit() finds it
        app.state.manager = broker.manager
        yield


app = FastAPI(lifespan=lifespan)


class Wanted(BaseModel):
    region: str
    year: int


@app.post("/reports", status_code=202)
async def submit(wanted: Wanted) -> dict[str, str]:
    try:
        sent = await make_report.options(key=f"{wanted.region}-{wanted.year}").submit(wanted.region, wanted.year)
    except StoreUnavailableError as error:  # after 10 s of trying: the client may repeat its request
        raise HTTPException(503, "try again") from error
    return {"task": sent.task_id, "status": f"/reports/{sent.task_id}"}


@app.get("/reports/{task_id}")
async def status(task_id: str, request: Request) -> dict[str, object]:
    try:
        record = await request.app.state.manager.get_task(task_id)
    except UnknownTaskError as error:
        raise HTTPException(404, "no such report") from error
    return {
        "state": record.state,
        "progress": record.progress,
        "value": record.value,
        "error": record.error and record.error.message,
    }


class Payment(BaseModel):
    order: int
    cents: int


@app.post("/charges")
async def pay(payment: Payment, response: Response) -> dict[str, str]:
    try:
        sent = await charge.options(key=f"charge-{payment.order}").submit(payment.order, payment.cents)
        record = await sent.wait(timeout=1, raise_failed=True)
    except MessageConflictError as error:  # the order was charged before, with another sum
        raise HTTPException(409, str(error)) from error
    except TaskFailed as failed:  # failed, rejected or canceled; the text has no traceback
        raise HTTPException(402, str(failed)) from failed
    except TimeoutError:  # the task goes on
        response.status_code = 202
        return {"task": sent.task_id, "status": f"/reports/{sent.task_id}"}
    return {"receipt": record.value}


@app.post("/reports/sync", status_code=202)
def submit_in_a_thread(wanted: Wanted) -> dict[str, str]:
    sent = make_report.submit_sync(wanted.region, wanted.year)  # uses the same broker
    return {"task": sent.task_id, "status": f"/reports/{sent.task_id}"}
