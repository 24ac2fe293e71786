-- Results of the tasks that a task was submitted after: it has them although those were deleted.

ALTER TABLE holdfast_tasks ADD parent_results bytea NOT NULL DEFAULT '\x90'; -- six values of each as MessagePack
