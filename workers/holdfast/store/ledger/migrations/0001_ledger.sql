-- The ledger: what was accepted, and what came of it. One row a queue, a task, a turn; requests are on their way to Redis.

CREATE TABLE holdfast_queues (
    queue text COLLATE "C" PRIMARY KEY,
    epoch text NOT NULL,                   -- the Redis that is followed knows it
    phase text NOT NULL CHECK (phase IN ('correcting', 'restoring', 'sweeping', 'following')),
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
    PRIMARY KEY (queue, task_id)
);
CREATE INDEX holdfast_tasks_open ON holdfast_tasks (queue, seq, created_ms, task_id) WHERE finished_ms IS NULL OR dead <> '';
CREATE INDEX holdfast_tasks_seen ON holdfast_tasks (queue, seen_ms, task_id);
CREATE INDEX holdfast_tasks_finished ON holdfast_tasks (queue, finished_ms, task_id) WHERE finished_ms IS NOT NULL;

CREATE TABLE holdfast_turns (
    queue text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    turn integer NOT NULL,
    operation bytea NOT NULL,
    result bytea,
    PRIMARY KEY (queue, task_id, turn),
    FOREIGN KEY (queue, task_id) REFERENCES holdfast_tasks ON DELETE CASCADE
);

CREATE TABLE holdfast_requests (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text COLLATE "C" NOT NULL,
    verb text NOT NULL CHECK (verb IN ('run', 'message', 'cancel', 'pause', 'resume')),
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
