-- use: constants
-- provides: batch_at drop_first
-- The parts that a task has emitted: a list of batches. A batch is a line and a JSON array of its parts. The line has six words: the
-- position of its last part; the bytes of all batches up to its end; its run; the number of its last part in that run; when it came; its
-- claim.
local NO_BATCH = {position = 0, bytes = 0, number = 0, claim = ''}

-- The line of the batch at this index as a table; NO_BATCH if there is none; nil for a text that Holdfast did not write.
local function batch_at(key, index)
  local text = redis.pcall('LINDEX', key, index)
  if not text then return NO_BATCH end
  local position, bytes, number, claim = string.match(type(text) == 'string' and text or '', '^(%d+) (%d+) %d+ (%d+) %d+ ([^\n]*)\n')
  return position and {position = tonumber(position), bytes = tonumber(bytes), number = tonumber(number), claim = claim}
end

-- Drops the first batches, as far as there are more than are kept, at most PARTS_AT_ONCE in a call (each call adds one batch). `position`
-- and `bytes`: those of the last batch, which stays.
local function drop_first(key, position, bytes)
  for _ = 1, PARTS_AT_ONCE do
    local first = batch_at(key, 0)
    if first and position - first.position < PARTS_KEPT and bytes - first.bytes < PARTS_BYTES then return end
    call('LPOP', key)
  end
end
