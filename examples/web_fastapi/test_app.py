from collections.abc import Iterator

import pytest
from agent import make_report
from app import app
from fastapi.testclient import TestClient

from holdfast.testing import MemoryBroker


@pytest.fixture
def client(holdfast_broker: MemoryBroker) -> Iterator[TestClient]:
    with TestClient(app) as client:  # runs the lifespan
        yield client


@pytest.mark.parametrize("path", ["/reports", "/reports/sync"])
def test_a_report_is_submitted_and_made(client: TestClient, holdfast_broker: MemoryBroker, path: str) -> None:
    answer = client.post(path, json={"region": "eu", "year": 3})
    assert answer.status_code == 202
    holdfast_broker.assert_submitted(make_report, region="eu")
    where = answer.json()["status"]
    assert client.get(where).json()["state"] == "submitted"
    holdfast_broker.run_until_idle_sync()
    assert client.get(where).json()["value"] == {"eu": 3}


def test_the_same_report_twice_is_one_task(client: TestClient, holdfast_broker: MemoryBroker) -> None:
    for _ in range(2):
        client.post("/reports", json={"region": "eu", "year": 3})
    assert len(holdfast_broker.submitted(make_report)) == 1


def test_a_payment_is_waited_for_but_not_long(client: TestClient, holdfast_broker: MemoryBroker) -> None:
    assert client.post("/charges", json={"order": 1, "cents": 5}).status_code == 202
    assert client.post("/charges", json={"order": 1, "cents": 6}).status_code == 409
    assert client.post("/charges", json={"order": 2, "cents": 20_000}).status_code == 202
    holdfast_broker.run_until_idle_sync()
    assert client.post("/charges", json={"order": 1, "cents": 5}).json() == {"receipt": "receipt 1"}
    declined = client.post("/charges", json={"order": 2, "cents": 20_000})
    assert declined.status_code == 402
    assert declined.json()["detail"].endswith("failed: ValueError: the card was declined")


def test_an_unknown_report_is_not_found(client: TestClient) -> None:
    assert client.get("/reports/nothing").status_code == 404
