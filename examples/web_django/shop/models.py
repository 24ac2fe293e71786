from django.db import models


class Order(models.Model):
    mail = models.EmailField()
    confirmed = models.BooleanField(default=False)
