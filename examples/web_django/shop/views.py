from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.models import Order
from shop.tasks import submit_confirmation


@csrf_exempt
@require_POST
@transaction.atomic
def order(request: HttpRequest) -> JsonResponse:
    made = Order.objects.create(mail=request.POST["mail"])
    transaction.on_commit(lambda: submit_confirmation(made.pk))  # a worker must not look before the commit
    if not made.mail.endswith("@example.org"):
        transaction.set_rollback(True)
        return JsonResponse({"error": "we do not know you"}, status=403)
    return JsonResponse({"order": made.pk}, status=202)


def status(request: HttpRequest, number: int) -> JsonResponse:
    return JsonResponse({"confirmed": Order.objects.get(pk=number).confirmed})


urlpatterns = [path("orders", order), path("orders/<int:number>", status)]
