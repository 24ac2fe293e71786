-- Bounds of what is kept and of what is read here.
local EVENTS_KEPT = 100000        -- entries of the events stream, about
local TRAIL_KEPT = 64             -- transitions kept per task
local UNREADABLE_KEPT = 1000      -- entries set aside
local UNREADABLE_BYTES = 65536    -- bytes kept of each
local OUTBOX_KEPT = 100000         -- webhooks that wait to be told
local READ_BYTES = 32768          -- decoded here; more goes to a worker's inbox (decoding blocks the server)
local CANCELS_KEPT = 10000          -- ids canceled before they came
local CANCELS_KEPT_MS = 600000      -- and how long that counts
local AGENDA_WORK = 150           -- of the agenda in one step: 2 to 4 ms of the server
local SCAN = 64                   -- entries one pull looks at beyond those it claims
local GATES = 16                  -- gates of a lane that one pull looks at
local SUSPECT_CRASHES = 2         -- a task that has ended so many workers is a suspect
local SUSPECT_RECOVERIES = 3      -- and one that was recovered so often in a row, without an order
local SUSPECTS = 128               -- suspects that one call looks at
local MOVED = 1000000000000000     -- added to the scores of `solo` that stand in `suspects:<lane>`, too
local BELLS = 1                   -- rings kept per lane: a pull rings on while work remains
