-- use: constants
-- provides: count_told told_enough turns_asked turns_before
-- The earlier turns of a task: a list with an operation and a result for each.
local told_bytes = 0   -- bytes of tasks in this call's answer; after WINDOW_BYTES the call claims nothing more and adds no history
local function count_told(bytes) told_bytes = told_bytes + bytes end
local function told_enough() return told_bytes >= WINDOW_BYTES end

-- How many earlier turns an operation asks for. This is a hint, found without decoding. A worker that needs more turns reads them later.
local function turns_asked(operation)
  return tonumber(string.match(operation, '"history_length":%s*(%d+)') or nil) or math.huge
end

-- The last turns before item `first`, at most `most`, as far as this call's answer has room. Two answers: their items; how many items stand
-- before these.
local function turns_before(id, first, most)
  local key, back, items = KEY.history .. id, {}, {}
  first = math.min(first, call('LLEN', key))
  while first > 1 and #back < math.min(2 * most, HISTORY_ITEMS) and not told_enough() do
    local pair = call('LRANGE', key, first - 2, first - 1)
    back[#back + 1], back[#back + 2], first = pair[2], pair[1], first - 2
    count_told(#(pair[1] or '') + #(pair[2] or ''))
  end
  for i = #back, 1, -1 do items[#items + 1] = back[i] end
  return items, first
end
