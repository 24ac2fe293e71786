-- provides: QUEUE T call
-- Every operation begins with this. KEYS[1] is the plain public queue; all other keys of the namespace share its slot.
local QUEUE = KEYS[1]
local T = '{' .. QUEUE .. '}:'
local call = redis.call
