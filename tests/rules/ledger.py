"""The rules of the ledger: what PostgreSQL keeps, and how a Redis that was set back gets it again."""

from __future__ import annotations

from tests.rules.rule import Rule

_HERE = "workers/holdfast/store/ledger"
_SCRIPTS = "workers/holdfast/store/lua"
_AFTER = "tests/postgres/test_after_the_end.py"

LEDGER = [
    Rule(
        "a retry is a later moment of the task that has ended",
        f"{_SCRIPTS}/ledger/restore.lua",
        "settled(has.state), epoch, changes,",
        "settled(has.state), 0, 0,",
        f"{_AFTER}::test_a_retry_is_not_forgotten",
    ),
    Rule(
        "a retry is numbered",
        f"{_SCRIPTS}/task/retry.lua",
        "  amend(id)\n",
        "",
        f"{_AFTER}::test_a_retry_is_not_forgotten",
    ),
    Rule(
        "an older moment of a task that has ended does not replace a later one",
        f"{_HERE}/tables/tasks.py",
        ">= (t.amended_epoch, t.amended)",
        "IS NOT NULL",
        f"{_AFTER}::test_an_older_moment_does_not_replace_a_later_one",
    ),
    Rule(
        "what a webhook was told after the end is numbered",
        f"{_SCRIPTS}/webhook/webhook_done.lua",
        "if TERMINAL[read(task, 'state')[1]] then amend(task) end\n",
        "",
        f"{_AFTER}::test_a_webhook_that_was_told_after_the_end_is_not_told_again",
    ),
    Rule(
        "a removal is told to the ledger",
        f"{_SCRIPTS}/shared/deletion.lua",
        "if how == 'removed' then tell_removed(id) end",
        "",
        f"{_AFTER}::test_a_removal_whose_process_died_is_copied",
    ),
    Rule(
        "a life that was removed is removed again before another one is put back",
        f"{_HERE}/rebuild.py",
        "await removals.of(sql, self._name, [dump.task_id for dump in dumps])",
        "[]",
        f"{_AFTER}::test_another_life_that_waits_comes_back_and_runs",
    ),
    Rule(
        "what had not ended at the earlier moment is taken from its place when it is removed again",
        f"{_SCRIPTS}/ledger/remove.lua",
        "    end_silently(id)\n",
        "    return 0\n",
        f"{_AFTER}::test_a_removed_task_that_had_not_ended_at_the_earlier_moment_is_not_run_again",
    ),
    Rule(
        "a removal that was answered shows that an older Redis was set back",
        f"{_HERE}/tasks.py",
        "await queues.write(sql, self._queue.name, queue)",
        "pass",
        f"{_AFTER}::test_a_purged_dead_letter_stays_removed",
    ),
    Rule(
        "nothing that has ended is changed in a Redis that was set back",
        f"{_HERE}/tasks.py",
        "self._changing = RedisTasks(redis.connection, self._behind)",
        "self._changing = RedisTasks(redis.connection)",
        f"{_AFTER}::test_nothing_that_has_ended_is_changed_in_a_redis_that_was_set_back",
    ),
    Rule(
        "what has ended is put back into a Redis of which nobody knows how far it was set back",
        f"{_HERE}/rebuild.py",
        "async for ended in tasks.ended_of(sql, self._name, ids):",
        "async for ended in tasks.ended_of(sql, self._name, []):",
        f"{_AFTER}::test_what_has_ended_does_not_run_again_where_redis_was_set_back_while_it_was_rebuilt",
    ),
    Rule(
        "a Redis with an earlier epoch of this ledger was set back",
        f"{_SCRIPTS}/shared/ledger_standing.lua",
        "is_earlier_epoch(owner, epoch) and 'lost' or 'other'",
        "'other'",
        f"{_AFTER}::test_a_redis_that_is_set_back_to_before_an_earlier_rebuild_is_rebuilt",
    ),
]
