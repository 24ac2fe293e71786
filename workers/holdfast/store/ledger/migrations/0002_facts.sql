-- Facts: what is kept besides tasks. One row a schedule, one for all that is said of lanes, of hosts, one for the queue's
-- webhook.
-- They are asked for like what is done to tasks; and a task keeps its webhooks that wait to be told.

CREATE TABLE holdfast_facts (
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,        -- schedule|<id>, rules|, quiet|, webhook|
    content bytea NOT NULL DEFAULT '\x90', -- names and values as MessagePack, the last ones where it was removed
    removed boolean NOT NULL DEFAULT false,
    seen_ms bigint NOT NULL DEFAULT 0,     -- when the last event was that Redis knew when it was read; 0: it was not
    asked bigint NOT NULL DEFAULT 0,       -- the last request that was carried out on it
    unread boolean NOT NULL DEFAULT false, -- something has happened to it since it was read
    doubtful boolean NOT NULL DEFAULT false, -- events were missed: it may have been removed
    PRIMARY KEY (queue, name)
);
CREATE INDEX holdfast_facts_unread ON holdfast_facts (queue, name) WHERE unread;

ALTER TABLE holdfast_requests DROP CONSTRAINT holdfast_requests_verb_check;
ALTER TABLE holdfast_requests ADD CONSTRAINT holdfast_requests_verb_check
    CHECK (verb IN ('run', 'message', 'cancel', 'pause', 'resume', 'change'));

ALTER TABLE holdfast_queues DROP CONSTRAINT holdfast_queues_phase_check;
ALTER TABLE holdfast_queues ADD CONSTRAINT holdfast_queues_phase_check
    CHECK (phase IN ('bounding', 'correcting', 'restoring', 'scheduling', 'sweeping', 'listing', 'following'));

ALTER TABLE holdfast_tasks ADD webhooks bytea NOT NULL DEFAULT '\x90'; -- an empty list
DROP INDEX holdfast_tasks_open;
CREATE INDEX holdfast_tasks_open ON holdfast_tasks (queue, seq, created_ms, task_id)
    WHERE finished_ms IS NULL OR dead <> '' OR webhooks <> '\x90';

-- What Redis knew before this version is read once: the schedules and bounds that were set there.
UPDATE holdfast_queues SET phase = 'listing', cursor = '' WHERE phase = 'following';
