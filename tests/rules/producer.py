"""Rules of producers and of their connections."""

from __future__ import annotations

from tests.rules.rule import Rule

_REDIS = "workers/holdfast/store/redis"
_JOINED = "tests/worker/test_joined_submits.py"
_DIRECT = "tests/worker/test_direct_client.py"

_SUBMITTER = "tests/worker/test_submitter.py"

PRODUCER = [
    Rule(
        "a part of a batch is sent before the next is made",
        "workers/holdfast/client/submitter.py",
        "                    await anyio.lowlevel.checkpoint()  # now it is sent\n",
        "",
        f"{_SUBMITTER}::test_a_part_is_made_while_the_one_before_is_on_its_way",
    ),
    Rule(
        "a part of a batch has bounded bytes",
        "workers/holdfast/client/submitter.py",
        " and (total := total + size(items[end])) <= CHUNK_BYTES",
        "",
        f"{_SUBMITTER}::test_a_part_has_bounded_bytes",
    ),
    Rule(
        "a task that may be too large is made before anything is written",
        "workers/holdfast/client/submission.py",
        "    if len(message) > max_bytes - AROUND:\n        built(checked, queue, max_bytes)\n",
        "",
        f"{_SUBMITTER}::test_nothing_is_written_of_a_batch_with_a_task_that_is_too_large",
    ),
    Rule(
        "submissions of a call that was cancelled go with the next call",
        f"{_REDIS}/joined_submits.py",
        "            self._waiting.extendleft(reversed(group[1:]))\n",
        "",
        f"{_JOINED}::test_a_cancelled_caller_takes_no_other_along",
    ),
    Rule(
        "a caller that leaves while it waits is not submitted",
        f"{_REDIS}/joined_submits.py",
        "                self._waiting.remove(caller)\n",
        "                pass\n",
        f"{_JOINED}::test_a_caller_that_leaves_the_queue_is_not_submitted",
    ),
    Rule(
        "an error of one submission is not the error of the others in its call",
        f"{_REDIS}/joined_submits.py",
        "if isinstance(caller.error, StoreUnavailableError | StoreFullError):",
        "if caller.error:",
        f"{_JOINED}::test_an_error_is_that_of_the_caller_whose_submission_has_it",
    ),
    Rule(
        "a connection goes back where a caller waits for one",
        f"{_REDIS}/direct_client.py",
        "if self._callers_of_pool or not",
        "if not",
        f"{_DIRECT}::test_more_callers_than_connections_are_all_answered",
    ),
    Rule(
        "a connection that the server has closed is not used again",
        f"{_REDIS}/direct_client.py",
        " and not await _can_read(connection)",
        "",
        f"{_DIRECT}::test_a_connection_that_the_server_has_closed_is_not_used_again",
    ),
    Rule(
        "the first failure of a call counts as its first attempt",
        "workers/holdfast/client/submit_retries.py",
        "            if failed:  #",
        "            if False:  #",
        "tests/worker/test_patience.py::test_a_producer_asks_as_often_as_its_settings_say",
    ),
]
