"""The resource: the attributes of the process that sends telemetry."""

from __future__ import annotations

import socket

from opentelemetry.sdk.resources import (
    HOST_NAME,
    SERVICE_INSTANCE_ID,
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)

from holdfast.telemetry.semantic_names import SCHEMA_URL
from holdfast.version import installed


def resource(service: str) -> Resource:
    """The SDK's attributes, the service name with Holdfast's version, and the host. The user's OTEL_* variables
    override them."""
    ours = Resource({SERVICE_NAME: service, SERVICE_VERSION: installed(), HOST_NAME: socket.gethostname()})
    merged = Resource.create().merge(ours).merge(OTELResourceDetector().detect())
    # The schema is set last: resources with different schemas cannot be merged, and a detector of the user may set one.
    return Resource(merged.attributes, merged.schema_url or SCHEMA_URL)


def hostless(resource: Resource) -> Resource:
    """The resource without the host, for the metrics of the queue. So their series go on when the steward of another
    host takes over the reporting."""
    of_a_host = {HOST_NAME, SERVICE_INSTANCE_ID}
    kept = {key: value for key, value in resource.attributes.items() if key not in of_a_host}
    return Resource(kept, resource.schema_url)
