-- use: messages lane lane_type
-- A new task with what its producer asked for; it does not wait anywhere yet.
local function record(id, message, digest, operation, lane, name, attempts, timeout, key)
  create(id, lane, operation, message, digest, 'own', 0)
  if name ~= '' then write(id, 'name', name) end
  if attempts ~= '' then write(id, 'max_attempts', attempts) end
  if timeout ~= '' then write(id, 'timeout', timeout) end
  if key ~= '' then write(id, 'concurrency_key', key) end
end

-- When it may begin: 0 for now.
local function beginning(due, delay) return due ~= '' and tonumber(due) or (delay ~= '' and NOW + tonumber(delay)) or 0 end
