"""Ids of traces and spans: the same in each process, other ones for each task and delivery."""

from __future__ import annotations

import subprocess
import sys

from holdfast.core.identity import fire_span_id, link, recovery_span_id, span_id, trace_id


def test_another_process_computes_the_same_ids() -> None:
    program = "from holdfast.core.identity import *; print(trace_id('t'), span_id('t', 2), recovery_span_id('t', 2))"
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert there == [trace_id("t"), span_id("t", 2), recovery_span_id("t", 2)]
    assert [len(each) for each in there] == [32, 16, 16]


def test_each_delivery_of_each_task_has_an_id_of_its_own() -> None:
    tasks, deliveries = [f"t{number}" for number in range(20)], range(1, 20)
    ids = [of(task, delivery) for task in tasks for delivery in deliveries for of in (span_id, recovery_span_id)]
    ids += map(fire_span_id, tasks)
    assert len(set(ids)) == len(ids)
    assert len(set(map(trace_id, tasks))) == len(tasks)


def test_the_retry_of_a_dead_letter_stays_in_the_trace_of_its_task() -> None:
    assert trace_id("t.r1") == trace_id("t.r1.r2") == trace_id("t")
    assert trace_id("t.run") != trace_id("t")


def test_a_link_names_trace_and_span_where_the_template_has_them() -> None:
    assert link("http://j/trace/{trace_id}?s={span_id}", "ab", "cd") == "http://j/trace/ab?s=cd"
    assert link("http://j/trace/{trace_id}", "ab", "cd") == "http://j/trace/ab"
