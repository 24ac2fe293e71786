-- The ledger: what was accepted, and what came of it. One row a queue, a task, a turn; requests are on their way to Redis.

CREATE TABLE holdfast_queues (
    queue text COLLATE "C" PRIMARY KEY,
    epoch text NOT NULL,                   -- the Redis that is followed knows it
    phase text NOT NULL CHECK (
        phase IN ('bounding', 'correcting', 'restoring', 'removing', 'scheduling', 'sweeping', 'listing', 'following')),
    cursor text NOT NULL DEFAULT '',       -- how far the phase has come
    position text NOT NULL DEFAULT '',     -- of the last event that was ingested
    witness text NOT NULL DEFAULT '',      -- the last event that was there when tasks were read
    since_ms bigint NOT NULL DEFAULT 0,    -- tasks read later than this may have been forgotten by Redis
    losses integer NOT NULL DEFAULT 0,     -- how often Redis had lost something
    restored bigint NOT NULL DEFAULT 0     -- tasks put back, ever
);

CREATE TABLE holdfast_tasks (
    queue text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    state text NOT NULL,
    seq bigint NOT NULL,
    created_ms bigint NOT NULL,
    finished_ms bigint,
    seen_ms bigint NOT NULL,               -- when the last event was that Redis knew when it was read
    asked bigint NOT NULL,                 -- the last request that was carried out on it
    turn integer NOT NULL,
    dead text NOT NULL,                    -- the moment it was given up, or empty
    message_ids text[] NOT NULL,
    digests text[] NOT NULL,
    record bytea NOT NULL,                 -- as MessagePack, like what follows
    pending bytea NOT NULL,
    checkpoint bytea NOT NULL,
    trail bytea NOT NULL,
    ties bytea NOT NULL,                   -- what it waits for, when it expires, the keys that it holds
    webhooks bytea NOT NULL DEFAULT '\x90', -- that wait to be told; '\x90' is an empty list
    steps bytea NOT NULL DEFAULT '\x90',   -- places and texts: none is called again after a loss of Redis
    parent_results bytea NOT NULL DEFAULT '\x90', -- six values of each task it was submitted after, which may be deleted
    batch text COLLATE "C" NOT NULL DEFAULT '', -- empty: of none; from its tasks a batch is put back as a whole
    error text COLLATE "C" NOT NULL DEFAULT '', -- the kind of error of its last failed run, or empty
    amended_epoch bigint NOT NULL DEFAULT 0, -- changes after the end are numbered: by the ledger's epoch,
    amended bigint NOT NULL DEFAULT 0,     -- and by the count of such changes of the task
    PRIMARY KEY (queue, task_id)
);
CREATE INDEX holdfast_tasks_open ON holdfast_tasks (queue, seq, created_ms, task_id)
    WHERE finished_ms IS NULL OR dead <> '' OR webhooks <> '\x90';
CREATE INDEX holdfast_tasks_seen ON holdfast_tasks (queue, seen_ms, task_id);
CREATE INDEX holdfast_tasks_finished ON holdfast_tasks (queue, finished_ms, task_id) WHERE finished_ms IS NOT NULL;
CREATE INDEX holdfast_tasks_batch ON holdfast_tasks (queue, batch, task_id) WHERE batch <> '';

CREATE INDEX holdfast_tasks_error ON holdfast_tasks (queue, error, finished_ms, task_id) WHERE error <> '';

CREATE TABLE holdfast_turns (
    queue text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    turn integer NOT NULL,
    operation bytea NOT NULL,
    result bytea,
    PRIMARY KEY (queue, task_id, turn),
    FOREIGN KEY (queue, task_id) REFERENCES holdfast_tasks ON DELETE CASCADE
);

-- A removal leaves a row without content: a Redis that is set back to a moment before it gives the task up again.
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

CREATE TABLE holdfast_requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text COLLATE "C" NOT NULL,
    verb text NOT NULL CHECK (verb IN ('run', 'message', 'cancel', 'pause', 'resume', 'change')),
    task_id text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL DEFAULT '', -- of a run or a message
    digest text NOT NULL DEFAULT '',
    content bytea NOT NULL,                -- of a run or a message the submission as MessagePack, else the reason
    created timestamptz NOT NULL DEFAULT clock_timestamp(),
    given timestamptz,                     -- to Redis; gone when the ledger has seen what came of it
    refused text                           -- by Redis: conflict, terminal
);
CREATE UNIQUE INDEX holdfast_requests_messages ON holdfast_requests (queue, task_id, message_id)
    WHERE message_id <> '' AND refused IS NULL;
CREATE INDEX holdfast_requests_tasks ON holdfast_requests (queue, task_id, id);
CREATE INDEX holdfast_requests_waiting ON holdfast_requests (queue, id) WHERE given IS NULL AND refused IS NULL;

-- Facts: what is kept besides tasks. One row a schedule, one for all that is said of lanes, of hosts, one for the queue's webhook.
-- They are asked for like what is done to tasks.
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
