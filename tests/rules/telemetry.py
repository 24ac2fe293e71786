"""Rules of the traces of tasks."""

from __future__ import annotations

from tests.rules.rule import Rule

_SPANS = "tests/telemetry/test_delivery_spans.py"
_USUAL = "tests/telemetry/test_fast_spans.py"
_TRACES = "tests/telemetry/test_traces.py"

TELEMETRY = (
    Rule(
        "the span of a delivery has the id that its task and number give",
        "chosen.id_generator = self._chosen",
        "",
        f"{_USUAL}::test_a_record_is_sent_as_the_sdks_span",
    ),
    Rule(
        "each delivery has a span id of its own",
        'f"process {task_id} {delivery}"',
        'f"process {task_id}"',
        "tests/core/test_trace_ids.py::test_each_delivery_of_each_task_has_an_id_of_its_own",
    ),
    Rule(
        "in the mode link a delivery is no child of its producer's span",
        "if origin is not None and self._is_parent else",
        "if origin is not None else",
        f"{_SPANS}::test_a_delivery_is_a_consumer_span_with_links",
    ),
    Rule(
        "the producer's sampling decision is kept without being its child",
        "trace_id = planned.trace_id if origin is None else origin.trace_id\n"
        "parent = _parent(planned) if origin is None else within(origin)",
        "trace_id, parent = planned.trace_id, _parent(planned)",
        f"{_SPANS}::test_the_producer_decides_if_a_trace_is_sampled",
    ),
    Rule(
        "a span that its handler adds to is made by the SDK",
        "NonRecordingSpan(planned.context) if self._is_over else self._make(planned)",
        "NonRecordingSpan(planned.context)",
        f"{_USUAL}::test_a_handler_can_do_with_the_span_around_it_what_the_sdks_can",
    ),
    Rule(
        "a processor that an application adds sees the spans of deliveries",
        '"""Add a processor. A processor needs spans made by the SDK, so plain records are no longer accepted."""\n'
        "self.take = None",
        "",
        f"{_USUAL}::test_a_processor_that_the_application_adds_sees_all_spans",
    ),
    Rule(
        "limits of a span's attributes hold for spans of deliveries",
        "takes_records(exporter) and not _has_limits()",
        "takes_records(exporter)",
        f"{_USUAL}::test_limits_of_the_users_variables_hold",
    ),
    Rule(
        "the producer's flags are read",
        "TraceFlags.SAMPLED if operation.trace_flags is None else operation.trace_flags",
        "TraceFlags.SAMPLED",
        f"{_SPANS}::test_the_producer_decides_if_a_trace_is_sampled",
    ),
    Rule(
        "the message of an error is not in its span",
        r'[ |]*File "[^"\n]+", line [0-9]+, in [^\n]+$',
        ".+$",
        f"{_SPANS}::test_a_span_tells_how_the_delivery_ended",
    ),
    Rule(
        "a worker sends no span of a run whose end the store does not know",
        "self._spans[report.task_id, report.claim] = span",
        "span.settled(None)",
        "tests/telemetry/test_unsettled_spans.py::test_a_span_is_sent_with_the_stores_answer_to_its_report",
    ),
    Rule(
        "the steward reports the runs of dead workers",
        "self.lost_runs.add(incarnation)",
        "pass",
        f"{_TRACES}::test_a_killed_run_has_a_span_and_is_the_parent_of_its_children",
    ),
    Rule(
        "tasks that had not begun have no lost run",
        "if not step.reason.endswith(NOT_BEGUN):\n    steps",
        "if True:\n    steps",
        "tests/steward/test_lost_runs.py::test_the_recoveries_of_a_worker_are_found_among_others",
    ),
    Rule(
        "spans of handlers go the same way, through a provider that their module has set",
        "if provider_in_use() is None:\n"
        "    trace.set_tracer_provider(BatchingProvider(exporter, about))\nreturn given()",
        "provider = BatchingProvider(exporter, about)\nreturn SpanProvider(provider, provider.shutdown)",
        f"{_TRACES}::test_a_provider_of_the_handlers_module_is_used",
    ),
    Rule(
        "up-down counters are no deltas",
        "if isinstance(data, Sum) and not data.is_monotonic:",
        "if False:",
        "tests/steward/test_metric_deltas.py::test_gauges_and_up_down_counters_stay_as_they_are",
    ),
    Rule(
        "records of the user's code are of no version of ours",
        'if name.partition(".")[0] == HOLDFAST:',
        "if True:",
        "tests/telemetry/test_logs.py::test_records_of_the_block_arrive_as_they_were_written",
    ),
    Rule(
        "the span of a delivery names the server",
        "attributes | semantic_names.of_server(self._server())",
        "attributes",
        "tests/telemetry/test_conventions.py::test_each_signal_names_its_schema_its_scope_and_the_version",
    ),
    Rule(
        "the encoder of records names the schema of the spans",
        "InstrumentationScope(semantic_names.HOLDFAST, installed(), semantic_names.SCHEMA_URL)",
        "InstrumentationScope(semantic_names.HOLDFAST)",
        "tests/telemetry/test_conventions.py::test_each_signal_names_its_schema_its_scope_and_the_version",
    ),
)
