-- The results of steps: they are kept with their task, so that none is called again after a loss of Redis.

ALTER TABLE holdfast_tasks ADD steps bytea NOT NULL DEFAULT '\x90'; -- places and texts as MessagePack, an empty list
