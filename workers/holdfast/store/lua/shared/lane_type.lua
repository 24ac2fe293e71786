-- use: lane
-- Whether a lane's key holds a list, or nothing yet: in any other one a task would be half made.
local lists = {}
local function is_list(lane)
  if lists[lane] == nil then
    local answer = redis.pcall('LLEN', list_of(lane))
    lists[lane] = type(answer) == 'number'
  end
  return lists[lane]
end
