"""The rules of the ledger: what PostgreSQL keeps, and how a Redis that was set back gets it again."""

from __future__ import annotations

from tests.rules.rule import Rule

_DOUBT = "tests/ledger/test_doubt.py"
_BEHIND = "tests/worker/test_pull_behind_bell.py"
_AFTER = "tests/ledger/test_after_the_end.py"
_GIVEN = "tests/ledger/test_given_requests.py"

LEDGER = [
    Rule(
        "what Redis was given and has lost unread is given again",
        "await self._look_for_lost_requests(sql)",
        "pass",
        f"{_GIVEN}::test_tasks_messages_orders_and_changes_come_back",
    ),
    Rule(
        "what Redis was given a moment ago is left to its event",
        "given < now() - $2::float8 * interval '1 second' AND",
        "given IS NOT NULL AND $2::float8 IS NOT NULL AND",
        f"{_GIVEN}::test_what_was_given_a_moment_ago_is_left_to_its_event",
    ),
    Rule(
        "a retry is a later moment of the task that has ended",
        "settled(has.state), epoch, changes,",
        "settled(has.state), 0, 0,",
        f"{_AFTER}::test_a_retry_is_not_forgotten",
    ),
    Rule(
        "what was put back in part is not there",
        "r[7] and (not r[3] or ahead == 0)",
        "false",
        "tests/lua/test_restoring.py::test_a_rebuild_that_the_server_has_cut_off",
    ),
    Rule(
        "what was put back in part is not copied",
        "or (task and read(id, 'restoring')[1])",
        "",
        "tests/ledger/test_damaged.py::test_what_was_half_put_back_is_not_copied",
    ),
    Rule(
        "a retry is numbered",
        "write(id, 'retried_as', new)\namend(id)",
        "write(id, 'retried_as', new)",
        f"{_AFTER}::test_a_retry_is_not_forgotten",
    ),
    Rule(
        "an older moment of a task that has ended does not replace a later one",
        ">= (t.amended_epoch, t.amended)",
        "IS NOT NULL",
        f"{_AFTER}::test_an_older_moment_does_not_replace_a_later_one",
    ),
    Rule(
        "what a webhook was told after the end is numbered",
        "if TERMINAL[read(task, 'state')[1]] then amend(task) end",
        "",
        f"{_AFTER}::test_a_webhook_that_was_told_after_the_end_is_not_told_again",
    ),
    Rule(
        "a removal is told to the ledger",
        "if how == 'removed' then tell_removed(id) end",
        "",
        f"{_AFTER}::test_a_removal_whose_process_died_is_copied",
    ),
    Rule(
        "a life that was removed is removed again before another one is put back",
        "await tasks.removals_of(sql, self._name, [dump.task_id for dump in dumps])",
        "[]",
        f"{_AFTER}::test_another_life_that_waits_comes_back_and_runs",
    ),
    Rule(
        "what had not ended at the earlier moment is taken from its place when it is removed again",
        "end_silently(id)\nend\ncall('UNLINK', KEY.left",
        "return 0\nend\ncall('UNLINK', KEY.left",
        f"{_AFTER}::test_a_removed_task_that_had_not_ended_at_the_earlier_moment_is_not_run_again",
    ),
    Rule(
        "a removal that was answered shows that an older Redis was set back",
        "await queues.write(sql, self._keys.queue, queue)",
        "pass",
        f"{_AFTER}::test_a_purged_dead_letter_stays_removed",
    ),
    Rule(
        "nothing that has ended is changed in a Redis that was set back",
        "self._run_whole = self._run_followed",
        "self._run_whole = self.connection.run",
        f"{_AFTER}::test_nothing_that_has_ended_is_changed_in_a_redis_that_was_set_back",
    ),
    Rule(
        "what has ended is put back into a Redis of which nobody knows how far it was set back",
        "async for ended in tasks.ended_of(sql, self._name, ids):",
        "async for ended in tasks.ended_of(sql, self._name, []):",
        f"{_AFTER}::test_what_has_ended_does_not_run_again_where_redis_was_set_back_while_it_was_rebuilt",
    ),
    Rule(
        "a Redis with an earlier epoch of this ledger was set back",
        "is_earlier_epoch(owner, epoch) and 'lost' or 'other'",
        "'other'",
        f"{_AFTER}::test_a_redis_that_is_set_back_to_before_an_earlier_rebuild_is_rebuilt",
    ),
    Rule(
        "a request that leaps is no usual call",
        "tonumber(ARGV[2]) ~= (tonumber(r[2]) or 0) + 1",
        "tonumber(ARGV[2]) <= (tonumber(r[2]) or 0)",
        f"{_DOUBT}::test_a_request_that_leaps_is_no_usual_call",
    ),
    Rule(
        "a request that leaps is a sign that Redis was set back",
        "request > last + 1 and",
        "false and",
        f"{_DOUBT}::test_what_had_ended_and_was_copied_is_not_claimed_again",
    ),
    Rule(
        "nobody claims while it is doubted that Redis has lost nothing",
        "or doubt().lasts() then",
        "then",
        f"{_DOUBT}::test_what_had_ended_and_was_copied_is_not_claimed_again",
    ),
    Rule(
        "only a Redis that a ledger follows is doubted",
        "if call('HEXISTS', KEY.meta, 'ledger') == 0 then return false end",
        "",
        f"{_DOUBT}::test_without_a_ledger_nobody_waits",
    ),
    Rule(
        "a doubt that no steward ends lasts ten minutes",
        "math.abs(NOW - (tonumber(since) or 0)) < PATIENCE_MS or",
        "true or",
        f"{_DOUBT}::test_a_queue_that_no_steward_looks_at_works_again_after_ten_minutes",
    ),
    Rule(
        "workers look anew when a doubt has ended",
        "ipairs(call('ZRANGE', KEY.workers, 0, -1)) do hint(incarnation, 'look')",
        "ipairs(call('ZRANGE', KEY.workers, 0, -1)) do hint(incarnation, 'wake')",
        f"{_DOUBT}::test_a_redis_that_has_lost_nothing_is_confirmed",
    ),
    Rule(
        "a worker that was forgotten goes on with its number",
        "'request', answered or 0,",
        "'request', 0,",
        f"{_DOUBT}::test_a_worker_that_was_forgotten_goes_on_with_its_number",
    ),
    Rule(
        "nobody claims before the turns that go on are back",
        "if queue.since_ms > 0 or (queue.since_ms == NOBODY_KNOWS and await self._redis.holds_an_epoch()):",
        "if False:",
        f"{_DOUBT}::test_nobody_claims_where_redis_was_set_back_while_it_was_rebuilt",
    ),
    Rule(
        "a rebuild lets workers claim again",
        "await self._redis.release()",
        "",
        f"{_DOUBT}::test_nobody_claims_before_the_turns_that_go_on_are_back",
    ),
    Rule(
        "while PostgreSQL is away the steward compares with what it knew",
        "await self._redis.confirm(self._last.epoch, self._last.seen)",
        "pass",
        f"{_DOUBT}::test_while_postgres_is_away_the_steward_compares_with_what_it_knew",
    ),
    Rule(
        "a Redis is confirmed only if it has what the ledger has seen",
        'await self.behind(epoch, witness, "confirm")',
        'await self._run("confirm")',
        f"{_DOUBT}::test_while_postgres_is_away_the_steward_compares_with_what_it_knew",
    ),
    Rule(
        "a worker tells of a new connection before it claims",
        "if context.retries.is_cut:",
        "if False:",
        f"{_BEHIND}::test_what_may_have_claimed_something_unheard_is_asked_again",
    ),
    Rule(
        "nothing waits behind a bell over a connection that the store was not told of",
        "or self.context.retries.is_cut",
        "",
        f"{_BEHIND}::test_nothing_waits_behind_a_bell_over_a_connection_that_the_store_was_not_told_of",
    ),
]
