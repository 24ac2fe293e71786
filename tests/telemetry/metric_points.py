"""Values of the metrics that a receiver got."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from tests.telemetry.receiver import Receiver, attributes


def points(metric: Metric) -> list[Any]:
    """The data points of a metric of any kind."""
    return list(getattr(metric, metric.WhichOneof("data") or "gauge").data_points)


def newest(receiver: Receiver, name: str, **labels: str) -> Any | None:
    """The point of this metric and these labels that came last."""
    for metric in reversed(receiver.metrics()):
        if metric.name == name:
            for point in points(metric):
                if labels.items() <= attributes(point.attributes).items():
                    return point
    return None


def value(receiver: Receiver, name: str, **labels: str) -> float:
    """The newest value; -1 if there is none."""
    point = newest(receiver, name, **labels)
    return -1.0 if point is None else float(getattr(point, point.WhichOneof("value")))
