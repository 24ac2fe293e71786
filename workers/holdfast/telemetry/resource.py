"""The resource: the attributes of the process that sends telemetry."""

from __future__ import annotations

import socket

from opentelemetry.sdk.resources import HOST_NAME, SERVICE_INSTANCE_ID, SERVICE_NAME, OTELResourceDetector, Resource


def resource(service: str) -> Resource:
    """The SDK's attributes, our service name and the host; the user's OTEL_* variables override them."""
    ours = Resource({SERVICE_NAME: service, HOST_NAME: socket.gethostname()})
    return Resource.create().merge(ours).merge(OTELResourceDetector().detect())


def hostless(resource: Resource) -> Resource:
    """The same for metrics that any host may send: their series go on where another host does."""
    of_a_host = {HOST_NAME, SERVICE_INSTANCE_ID}
    return Resource({key: value for key, value in resource.attributes.items() if key not in of_a_host})
