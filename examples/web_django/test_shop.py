import pytest
from django.test import Client
from shop.models import Order
from shop.tasks import confirm

from holdfast.testing import MemoryBroker

pytestmark = pytest.mark.usefixtures("database")


def test_an_order_is_confirmed(holdfast_broker: MemoryBroker) -> None:
    number = Client().post("/orders", {"mail": "ada@example.org"}).json()["order"]
    holdfast_broker.assert_submitted(confirm, order_id=number)
    assert Client().get(f"/orders/{number}").json() == {"confirmed": False}
    holdfast_broker.run_until_idle_sync()
    assert Client().get(f"/orders/{number}").json() == {"confirmed": True}


def test_an_order_that_was_rolled_back_submits_nothing(holdfast_broker: MemoryBroker) -> None:
    assert Client().post("/orders", {"mail": "eve@example.com"}).status_code == 403
    holdfast_broker.assert_not_submitted(confirm)


def test_an_order_whose_process_ended_behind_the_commit_is_confirmed_later(holdfast_broker: MemoryBroker) -> None:
    order = Order.objects.create(mail="ada@example.org")  # committed, and never submitted
    holdfast_broker.move_time_sync(minutes=2)
    assert len(holdfast_broker.submitted(confirm, order_id=order.pk)) == 1
    order.refresh_from_db()
    assert order.confirmed
