-- provides: NOW
-- The clock of Redis, in milliseconds. Tests replace this part by another clock; no script reads the time elsewhere.
local now_parts = call('TIME')
local NOW = now_parts[1] * 1000 + math.floor(now_parts[2] / 1000)
