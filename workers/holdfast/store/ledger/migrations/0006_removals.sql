-- Changes after a task's end are numbered: by the ledger's epoch, and by the count of such changes of the task.
-- A removal leaves a row without content: a Redis that is set back to a moment before it gives the task up again.

ALTER TABLE holdfast_tasks ADD amended_epoch bigint NOT NULL DEFAULT 0;
ALTER TABLE holdfast_tasks ADD amended bigint NOT NULL DEFAULT 0;

CREATE TABLE holdfast_removals (
    queue text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    created_ms bigint NOT NULL,            -- which life of the id was removed
    epoch bigint NOT NULL,                 -- of the ledger when it was removed
    number bigint NOT NULL,                -- its last change after its end
    seen_ms bigint NOT NULL,               -- when the last event was that Redis knew when the removal was seen
    PRIMARY KEY (queue, task_id, created_ms)
);
CREATE INDEX holdfast_removals_seen ON holdfast_removals (queue, seen_ms, task_id, created_ms);

ALTER TABLE holdfast_queues DROP CONSTRAINT holdfast_queues_phase_check;
ALTER TABLE holdfast_queues ADD CONSTRAINT holdfast_queues_phase_check CHECK (
    phase IN ('bounding', 'correcting', 'restoring', 'removing', 'scheduling', 'sweeping', 'listing', 'following'));
