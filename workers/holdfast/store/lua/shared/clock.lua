-- provides: NOW
-- Redis's own clock, milliseconds. Tests load another clock in this one's place; nothing else tells the time.
local now_parts = call('TIME')
local NOW = now_parts[1] * 1000 + math.floor(now_parts[2] / 1000)
