-- provides: EVENTS_KEPT TRAIL_KEPT UNREADABLE_KEPT UNREADABLE_BYTES OUTBOX_KEPT READ_BYTES CANCELS_KEPT CANCELS_KEPT_MS
-- provides: AGENDA_WORK WINDOW_BYTES DECODED_BYTES HISTORY_ITEMS PENDING_KEPT JOINED_AT_ONCE ASIDE_AT_ONCE RESULTS_AT_ONCE SCAN
-- provides: GO_ON_AT_ONCE GATES GATES_AT_ONCE SUSPECT_CRASHES SUSPECT_RECOVERIES SUSPECTS BELLS WRONG_END_KEPT_MS
-- provides: STEPS_KEPT STEPS_BYTES PARTS_KEPT PARTS_BYTES PARTS_AT_ONCE PARTS_TOLD COUNTS_FOR_MS ROLLUP_MS ROLLUP_KEPT_MS
-- provides: FIGURES_KEPT ROLLUP_BYTES BATCHES_AT_ONCE BATCH_LOOK_MS
-- Bounds of what is kept and of what is read here.
local EVENTS_KEPT = 100000        -- entries of the events stream, about; one may name several tasks
local TRAIL_KEPT = 64             -- transitions kept per task
local UNREADABLE_KEPT = 1000      -- entries set aside
local UNREADABLE_BYTES = 65536    -- bytes kept of each
local OUTBOX_KEPT = 100000         -- webhooks that wait to be told
local READ_BYTES = 32768          -- decoded here; more goes to a worker's inbox (decoding blocks the server)
local CANCELS_KEPT = 10000          -- ids canceled before they came
local CANCELS_KEPT_MS = 600000      -- and how long that counts
local AGENDA_WORK = 150           -- of the agenda in one step: 2 to 4 ms of the server
local WINDOW_BYTES = 1048576      -- of entries, and of what is told of tasks, in one call; one more may exceed it
local DECODED_BYTES = 131072      -- of entries decoded in one call: about 6 ms of the server
local HISTORY_ITEMS = 1000        -- of a task's history, told in one call
local PENDING_KEPT = 1000         -- messages that wait for one task, where no supervisor has said otherwise
local JOINED_AT_ONCE = 200        -- messages that join an interrupted turn in one call
local ASIDE_AT_ONCE = 200         -- messages of a task that has ended, set aside in one call
local RESULTS_AT_ONCE = 2000      -- results of tasks that are forgotten, deleted in one call
local STEPS_KEPT = 1000           -- of a task
local STEPS_BYTES = 16777216      -- names and results of them
local PARTS_KEPT = 10000          -- parts that a task has emitted, about
local PARTS_BYTES = 1048576       -- and bytes of them
local PARTS_AT_ONCE = 200         -- batches of them that are dropped, or read, in one command or call
local PARTS_TOLD = 262144         -- bytes of them in one answer; one batch more may exceed it
local BATCHES_AT_ONCE = 10       -- that are forgotten in one call: their keys are freed in the background
local BATCH_LOOK_MS = 15000       -- between two looks for ends of its tasks that were not counted
local SCAN = 64                   -- entries one pull looks at beyond those it claims
local GO_ON_AT_ONCE = 16         -- schedules that go on whose fires a worker makes between two pulls; stewards make the others
local GATES = 16                  -- gates of a lane that one pull looks at
local GATES_AT_ONCE = 1000        -- and that a changed bound opens, or a look at the lanes counts
local SUSPECT_CRASHES = 2         -- a task that has ended so many workers is a suspect
local SUSPECT_RECOVERIES = 3      -- and one that was recovered so often in a row, without an order
local SUSPECTS = 128               -- suspects that one call looks at
local BELLS = 1                   -- rings kept per lane: a pull rings on while work remains
local WRONG_END_KEPT_MS = 86400000 -- for so long a count of pushes at the wrong end of a lane is told
local COUNTS_FOR_MS = 60000       -- after its last count so long one steward alone counts such pushes
local ROLLUP_MS = 60000           -- a rollup holds the figures of so long
local ROLLUP_KEPT_MS = 30000000   -- and is kept for so long: eight hours, and time to copy it
local FIGURES_KEPT = 400          -- fields of a rollup
local ROLLUP_BYTES = 32768        -- names and values of them: with what Redis needs for each, 35 MB in eight hours
