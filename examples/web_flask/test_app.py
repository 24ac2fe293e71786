import pytest
from agent import make_report
from app import app
from flask.testing import FlaskClient

from holdfast.testing import MemoryBroker


@pytest.fixture
def client(holdfast_broker: MemoryBroker) -> FlaskClient:
    return app.test_client()


def test_a_report_is_submitted_and_made(client: FlaskClient, holdfast_broker: MemoryBroker) -> None:
    answer = client.post("/reports", json={"region": "eu", "year": 3})
    assert answer.status_code == 202
    holdfast_broker.assert_submitted(make_report, region="eu", year=3)
    where = answer.json["status"]
    assert client.get(where).json["state"] == "submitted"
    holdfast_broker.run_until_idle_sync()
    assert client.get(where).json["value"] == {"eu": 3}


def test_wrong_arguments_are_refused_before_a_task_is_made(client: FlaskClient, holdfast_broker: MemoryBroker) -> None:
    assert client.post("/reports", json={"region": "eu", "year": "soon"}).status_code == 422
    holdfast_broker.assert_not_submitted(make_report)


def test_an_unknown_report_is_not_found(client: FlaskClient) -> None:
    assert client.get("/reports/nothing").status_code == 404
