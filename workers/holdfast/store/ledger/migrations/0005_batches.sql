-- The batch of each task: from its tasks a batch is put back as a whole after a loss of Redis.

ALTER TABLE holdfast_tasks ADD batch text COLLATE "C" NOT NULL DEFAULT ''; -- empty: of none
CREATE INDEX holdfast_tasks_batch ON holdfast_tasks (queue, batch, task_id) WHERE batch <> '';
