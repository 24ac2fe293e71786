from django.db import close_old_connections

from holdfast import Handlers
from shop.models import Order

handlers = Handlers()


@handlers.use
def fresh_connections(task, call):
    """As Django does around a request: a connection that the database has closed is not used again."""
    close_old_connections()
    try:
        return call()
    finally:
        close_old_connections()


@handlers.register("confirm")
def confirm(order_id: int) -> str:
    order = Order.objects.get(pk=order_id)
    order.confirmed = True  # and send a mail
    order.save(update_fields=["confirmed"])
    return order.mail


def submit_confirmation(order_id: int) -> None:
    """The key makes the task's id: however often this is called for an order, it is one task."""
    confirm.options(key=f"confirm-{order_id}").submit_sync(order_id)


@handlers.register("submit_forgotten")
def submit_forgotten() -> None:
    """The outbox: orders whose process ended between the commit and the submit."""
    for order in Order.objects.filter(confirmed=False)[:1000]:
        submit_confirmation(order.pk)


handlers.schedule("outbox", every=60, name="submit_forgotten")
