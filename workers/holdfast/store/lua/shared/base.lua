-- provides: QUEUE T call
-- Every script begins with this part. KEYS[1] is the list of the public queue. All other keys of the namespace are in the same Cluster
-- slot.
local QUEUE = KEYS[1]
local T = '{' .. QUEUE .. '}:'
local call = redis.call
