-- provides: served_lanes turns note_turns
-- Shares a pull among the lanes that hold something, by weight. The state is in the store, so that the shares hold for
-- all workers together, however few tasks each takes at a time. A round ends when each lane that holds something has had
-- as many as its weight; within it the lane goes first that would be least far through its share, and of equal ones the
-- first: A twice and B once is A A B. A lane that was empty meanwhile saves up no more than its part of one round.

-- The lanes of a pull, and their weights; no weights: they are served in their order.
local function served_lanes()
  local lanes, weights = {}, {}
  for i = 7, #ARGV do lanes[i - 6] = ARGV[i] end
  for weight in string.gmatch(ARGV[5], '%d+') do weights[#weights + 1] = tonumber(weight) end
  return lanes, weights
end

local PAGE = 1000   -- values given to one call, an even number: a call takes no more than some thousands

local function turns_in_pages(command, values)
  local answers = {}
  for from = 1, #values, PAGE do
    local page = call(command, KEY.turns, unpack(values, from, math.min(from + PAGE - 1, #values)))
    if command == 'HMGET' then for i, answer in ipairs(page) do answers[from + i - 1] = answer end end
  end
  return answers
end

-- Answers how many of `want` to take from each lane, and how many each then has had; `offers`: how many each holds.
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
      break   -- a new round, and nobody holds anything
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
