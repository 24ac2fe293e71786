-- Take the webhooks that are due. For the lease, nobody else tries them.
-- KEYS: the public queue. ARGV: limit; lease (ms); the limit for all receivers that are not known to answer promptly; the most webhooks
--       under way to one prompt receiver; the most under way to one of the others. Then each receiver with webhooks under way, followed by
--       their number.
-- Answers: {ms until the next is due (-1: none), then for each webhook: name, its receiver, 1 if that is prompt, else 0, fields}. The
--       fields are empty if the record is no hash. A due webhook that waits for the end of another one to its receiver does not count for
--       the first value.
-- Keeps: a webhook that is taken and not done is taken again later, so each is delivered at least once. Many webhooks for one receiver, or
--       for receivers that do not answer, do not delay those for others.
-- flags: allow-oom
-- use: webhook_outbox clock
local LOOKS = 200   -- receivers of each kind (prompt or not) that one call looks at
local box = outbox()
local limit, lease, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local answer, busy = {-1}, {}
for i = 6, #ARGV, 2 do busy[ARGV[i]] = tonumber(ARGV[i + 1]) end
call('DEL', KEY.webhooks_control)

local function fields_of(name)
  local counted = redis.pcall('HINCRBY', box.hash(name), 'tries', 1)
  if type(counted) ~= 'number' then return {} end   -- the record is damaged; the other webhooks go on
  return call('HGETALL', box.hash(name))
end

-- True if the member is in this sorted set. A key that holds another type is deleted.
local function is_in(key, member)
  local score = redis.pcall('ZSCORE', key, member)
  if type(score) == 'table' then call('UNLINK', key) end
  return type(score) == 'string'
end

-- Puts the first due webhook back under its receiver, if somebody has damaged the receivers' sets.
local function mend_first()
  local first = call('ZRANGE', box.index, 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > NOW then return end
  local receiver = box.receiver_of_name(first[1])
  local is_known = is_in(KEY.receivers, receiver) or is_in(KEY.receivers_prompt, receiver)
  if not is_in(KEY.receiver .. receiver, first[1]) or not is_known then box.plan(first[1], receiver, first[2]) end
end

-- Takes the first webhooks for a receiver. Answers how many.
local function take_of(receiver, is_prompt, most)
  local names, taken = redis.pcall('ZRANGEBYSCORE', KEY.receiver .. receiver, '-inf', NOW, 'LIMIT', 0, most), 0
  for _, name in ipairs(names) do
    if call('ZSCORE', box.index, name) then
      box.plan(name, receiver, NOW + lease)
      for _, value in ipairs({name, receiver, is_prompt, fields_of(name)}) do answer[#answer + 1] = value end
      taken = taken + 1
    else
      box.leave(name, receiver)
    end
  end
  local misses = box.turn_of(receiver)
  box.give_turn(receiver, misses, NOW)   -- behind those that wait already
  return taken
end

local function take(receivers, is_prompt, share, most)
  local due = redis.pcall('ZRANGEBYSCORE', receivers, '-inf', NOW, 'LIMIT', 0, LOOKS)
  for _, receiver in ipairs(due) do
    local here = math.min(most, share - (busy[receiver] or 0))
    if here > 0 then most = most - take_of(receiver, is_prompt, here) end
  end
  return most
end

local function wait_for_next()
  for _, receivers in ipairs({KEY.receivers, KEY.receivers_prompt}) do
    local at = redis.pcall('ZRANGEBYSCORE', receivers, '(' .. NOW, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    local ms = at and math.ceil(at - NOW)
    if ms and (answer[1] < 0 or ms < answer[1]) then answer[1] = ms end
  end
end

mend_first()
local left = take(KEY.receivers_prompt, 1, tonumber(ARGV[4]), limit)
take(KEY.receivers, 0, tonumber(ARGV[5]), math.min(left, room))
wait_for_next()
return answer
