-- provides: EVENTS_KEPT TRAIL_KEPT UNREADABLE_KEPT UNREADABLE_BYTES OUTBOX_KEPT GIVEN_UP_KEPT READ_BYTES CANCELS_KEPT CANCELS_KEPT_MS
-- provides: AGENDA_WORK WINDOW_BYTES DECODED_BYTES HISTORY_ITEMS PENDING_KEPT JOINED_AT_ONCE ASIDE_AT_ONCE RESULTS_AT_ONCE SCAN
-- provides: GO_ON_AT_ONCE GATES GATES_AT_ONCE SUSPECT_CRASHES SUSPECT_RECOVERIES SUSPECTS BELLS WRONG_END_KEPT_MS
-- provides: STEPS_KEPT STEPS_BYTES PARTS_KEPT PARTS_BYTES PARTS_AT_ONCE PARTS_TOLD COUNTS_FOR_MS ROLLUP_MS ROLLUP_KEPT_MS
-- provides: FIGURES_KEPT ROLLUP_BYTES BATCHES_AT_ONCE BATCH_LOOK_MS
-- Bounds of what is kept, and of what scripts read or do in one call.
local EVENTS_KEPT = 100000        -- entries of the events stream, about; an entry may name several tasks
local TRAIL_KEPT = 64             -- transitions in a task's trail
local UNREADABLE_KEPT = 1000      -- unreadable entries
local UNREADABLE_BYTES = 65536    -- bytes kept of an unreadable entry
local OUTBOX_KEPT = 100000         -- webhooks in the outbox
local GIVEN_UP_KEPT = 1000         -- webhooks that were given up
local READ_BYTES = 32768          -- bytes of an entry that scripts decode; a larger one goes to a worker's inbox, because decoding blocks the server
local CANCELS_KEPT = 10000          -- canceled ids whose tasks have not come
local CANCELS_KEPT_MS = 600000      -- for how long such a cancel counts
local AGENDA_WORK = 150           -- units of work on the agenda in one step: 2 to 4 ms of the server
local WINDOW_BYTES = 1048576      -- bytes of entries that are read, or of tasks that are answered, in one call; the last one may exceed it
local DECODED_BYTES = 131072      -- bytes of entries that are decoded in one call: about 6 ms of the server
local HISTORY_ITEMS = 1000        -- items of a task's history in one answer
local PENDING_KEPT = 1000         -- messages that may wait for one task, unless a supervisor has set another number
local JOINED_AT_ONCE = 200        -- messages that join an interrupted turn in one call
local ASIDE_AT_ONCE = 200         -- messages of an ended task that are set aside in one call
local RESULTS_AT_ONCE = 2000      -- results of deleted tasks that one call deletes
local STEPS_KEPT = 1000           -- steps of a task
local STEPS_BYTES = 16777216      -- bytes of their names and results
local PARTS_KEPT = 10000          -- parts of a task, about
local PARTS_BYTES = 1048576       -- bytes of these parts
local PARTS_AT_ONCE = 200         -- batches of parts that are dropped in one call, or read with one command
local PARTS_TOLD = 262144         -- bytes of parts in one answer; the last batch may exceed it
local BATCHES_AT_ONCE = 10       -- batches of tasks that are deleted in one call; their keys are freed in the background
local BATCH_LOOK_MS = 15000       -- between two looks for ends of a batch's tasks that were not counted
local SCAN = 64                   -- entries that a pull looks at besides those that it claims
local GO_ON_AT_ONCE = 16         -- fires of CONTINUE schedules that a worker makes between two pulls; stewards make the others
local GATES = 16                  -- gates of a lane that one pull looks at
local GATES_AT_ONCE = 1000        -- gates that a changed bound marks, or that `lanes` counts
local SUSPECT_CRASHES = 2         -- deaths of workers after which a task is a suspect
local SUSPECT_RECOVERIES = 3      -- recoveries in a row without an order after which a task is a suspect
local SUSPECTS = 128               -- suspects that one call looks at
local BELLS = 1                   -- elements that a bell keeps; a pull rings again while work remains
local WRONG_END_KEPT_MS = 86400000 -- for how long a count of pushes at the wrong end of a lane is kept
local COUNTS_FOR_MS = 60000       -- for how long after its last count a steward is the only one that counts such pushes
local ROLLUP_MS = 60000           -- the time that a rollup covers
local ROLLUP_KEPT_MS = 30000000   -- for how long a rollup is kept: eight hours, and time to copy it
local FIGURES_KEPT = 400          -- fields of a rollup
local ROLLUP_BYTES = 32768        -- bytes of names and values of a rollup; with the overhead of Redis 35 MB in eight hours
