-- provides: served_lanes turns note_turns
-- Divides a pull among the lanes that hold entries, by weight. The state is in the store, so the shares hold for all workers together,
-- however few tasks each of them takes at a time.
-- In a round, each lane that holds entries gets as many tasks as its weight. The next task comes from the lane that is least far through
-- its share after it; of equal ones, from the first. With weights A 2 and B 1 the order is A A B. A lane that was empty saves up at most
-- its share of one round.

-- The lanes of a pull, and their weights. Without weights the lanes are served in their order.
local function served_lanes()
  local lanes, weights = {}, {}
  for i = 7, #ARGV do lanes[i - 6] = ARGV[i] end
  for weight in string.gmatch(ARGV[5], '%d+') do weights[#weights + 1] = tonumber(weight) end
  return lanes, weights
end

local PAGE = 1000   -- values in one command, an even number; Lua passes at most some thousands

local function turns_in_pages(command, values)
  local answers = {}
  for from = 1, #values, PAGE do
    local page = call(command, KEY.turns, unpack(values, from, math.min(from + PAGE - 1, #values)))
    if command == 'HMGET' then for i, answer in ipairs(page) do answers[from + i - 1] = answer end end
  end
  return answers
end

-- Two answers for each lane: how many of `want` to take; how many it then has had in this round. `offers`: how many each lane holds.
local function turns(lanes, weights, offers, want)
  local function next_turn(had, left)
    local best
    for i, weight in ipairs(weights) do
      if left[i] > 0 and had[i] < weight and (not best or (had[i] + 1) * weights[best] < (had[best] + 1) * weight) then best = i end
    end
    return best
  end

  local had, share, left = turns_in_pages('HMGET', lanes), {}, {}
  for i in ipairs(lanes) do had[i], share[i], left[i] = tonumber(had[i] or '0') or 0, 0, offers[i] end
  local begun = false
  while want > 0 do
    local turn = next_turn(had, left)
    if turn then
      had[turn], share[turn], left[turn], want, begun = had[turn] + 1, share[turn] + 1, left[turn] - 1, want - 1, false
    elseif begun then
      break   -- a new round has begun, and no lane holds anything
    else
      for i in ipairs(lanes) do had[i] = 0 end
      begun = true
    end
  end
  return share, had
end

local function note_turns(lanes, had)
  local told = {}
  for i, lane in ipairs(lanes) do told[2 * i - 1], told[2 * i] = lane, had[i] end
  turns_in_pages('HSET', told)
end
