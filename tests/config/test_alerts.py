"""Alerts, the dashboard, the collector and the scaling use metrics and labels that exist, and each alert fires."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.telemetry.metric_table import TABLE, Kind
from tests.docs.test_docs import unknown

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "config/alerts.yml"
UNIT_TESTS = ROOT / "tests/config/alerts_test.yml"
DASHBOARD = json.loads((ROOT / "config/grafana.json").read_text())
KUBERNETES = ROOT / "examples/kubernetes"

NAME = re.compile(r"\bholdfast_\w+")
SELECTOR = re.compile(r"\b(holdfast_\w+)\{([^}]*)\}")
GROUPED = re.compile(r"\bby \(([^)]*)\)")
OF_PROMETHEUS = {"instance", "le"}

METRICS = {metric.prometheus_name: metric for metric in TABLE}
HISTOGRAMS = {
    f"{metric.prometheus_name}{end}": metric
    for metric in TABLE
    if metric.kind is Kind.HISTOGRAM
    for end in ("_bucket", "_sum", "_count")
}
SERIES = {name: metric for name, metric in METRICS.items() if metric.kind is not Kind.HISTOGRAM} | HISTOGRAMS


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])
    yield from (variable["definition"] for variable in DASHBOARD["templating"]["list"] if "definition" in variable)
    for document in manifests("scaling-by-metrics.yaml"):
        yield from (trigger["metadata"]["query"] for trigger in document["spec"]["triggers"])


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((KUBERNETES / name).read_text()))


def test_each_metric_and_label_that_is_named_exists() -> None:
    found = list(expressions())
    assert len(found) > 40
    for expression in found:
        named = set(NAME.findall(expression))
        assert named <= SERIES.keys(), expression
        known = {label for name in named for label in SERIES[name].labels} | OF_PROMETHEUS
        grouped = {label.strip() for group in GROUPED.findall(expression) for label in group.split(",")}
        assert grouped <= known, expression
        for name, selectors in SELECTOR.findall(expression):
            labels = set(re.findall(r"(\w+)\s*[=!]~?", selectors))
            assert labels <= {*SERIES[name].labels, *OF_PROMETHEUS}, expression


def test_a_metric_or_label_that_does_not_exist_would_be_noticed() -> None:
    assert "holdfast_lane_depths" not in SERIES
    assert SELECTOR.findall('max(holdfast_lane_depth{lanes="x"})') == [("holdfast_lane_depth", 'lanes="x"')]


def test_what_has_to_be_told_is_told() -> None:
    told = " ".join(rule["expr"] for rule in rules())
    for name in (
        *("store_up", "store_memory_bytes", "lane_depth", "lane_oldest_seconds", "lane_workers", "dead_letters"),
        *("deaths_total", "breaker_open", "schedules_lateness_seconds", "ledger_lag_seconds"),
    ):
        assert f"holdfast_{name}" in told
    assert "deriv(holdfast_lane_depth" in told


def test_each_alert_says_what_it_is_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        labels = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        named = {label for name in NAME.findall(rule["expr"]) for label in SERIES[name].labels} | OF_PROMETHEUS
        assert labels <= named, rule["alert"]
        commands = re.findall(r"supervisor [a-z]+(?: [a-z]+)? --[a-z-]+", rule["annotations"]["description"])
        assert [line for line in commands if unknown(line)] == []


def test_each_alert_has_a_unit_test() -> None:
    fired = set(re.findall(r'alertname="(\w+)"', UNIT_TESTS.read_text()))
    assert fired == {rule["alert"] for rule in rules()}


def test_each_alert_fires_on_what_it_is_for() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool, of the package prometheus, is not on the path")
    for command in (["check", "rules", str(ALERTS)], ["test", "rules", str(UNIT_TESTS)]):
        done = subprocess.run([promtool, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_shows_each_metric_once_and_overlaps_nowhere() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_the_collector_defines_what_its_pipelines_use() -> None:
    collector = yaml.safe_load((ROOT / "config/otel-collector.yaml").read_text())
    assert {"traces", "metrics"} <= collector["service"]["pipelines"].keys()
    for pipeline in collector["service"]["pipelines"].values():
        for part, names in pipeline.items():
            assert set(names) <= collector[part].keys()


def test_pods_are_scaled_by_metrics_of_the_queue() -> None:
    [scaled] = manifests("scaling-by-metrics.yaml")
    [autoscaler] = manifests("autoscaler.yaml")
    [worker] = manifests("worker.yaml")
    name = worker["metadata"]["name"]
    assert scaled["spec"]["scaleTargetRef"]["name"] == autoscaler["spec"]["scaleTargetRef"]["name"] == name
    assert all(isinstance(value, str) for each in scaled["spec"]["triggers"] for value in each["metadata"].values())
    [metric] = autoscaler["spec"]["metrics"]
    assert metric["external"]["metric"]["name"] in METRICS
    assert scaled["spec"]["minReplicaCount"] < scaled["spec"]["maxReplicaCount"]


@pytest.mark.parametrize("name", ["worker.yaml", "autoscaler.yaml", "redis.yaml"])
def test_manifests_are_valid_by_the_schemas_of_kubernetes(name: str) -> None:
    validator: Any = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for manifest in manifests(name):
        validator.validate(manifest, "1.31", strict=True)


def test_a_pod_serves_metrics_where_it_is_asked_for_them() -> None:
    [worker] = manifests("worker.yaml")
    template = worker["spec"]["template"]
    [container] = template["spec"]["containers"]
    [port] = container["ports"]
    given = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert given["HOLDFAST_METRICS"] == f"0.0.0.0:{port['containerPort']}"
    assert template["metadata"]["annotations"]["prometheus.io/port"] == str(port["containerPort"])
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": port["name"]}
