-- provides: standing is_believed
-- Tells a ledger whether this is the Redis that it follows, and whether this Redis has lost anything that the ledger has seen.
--
-- Rule 1. A Redis belongs to the ledger whose epoch it holds. An epoch is `<number>-<ledger>`; each rebuild begins a higher number. A lower
-- number of the same ledger means that this Redis was set back.
-- Rule 2. A Redis has lost nothing if it still has the last event that the ledger has seen (`witness`, '' for none).
--
-- The answers. ok. missed: events after `after`, the last one that the ledger has ingested, were trimmed unread. lost: this Redis has
-- forgotten something that the ledger has seen, or knows no ledger. other: this Redis belongs to another ledger.
--
-- Warning. A Redis that was set back to exactly the witness looks whole. The ledger notices it by requests without an effect.
local function is_before(one, other)
  local function number(position)
    local ms, part = string.match(position, '^(%d+)-(%d+)$')
    return tonumber(ms), tonumber(part)
  end
  local a, b = {number(one)}, {number(other)}
  return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
end

local function memory_of(witness, after)
  if witness == '' then return 'ok' end
  local key = KEY.events
  local first = call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  if not first then return 'lost' end
  -- If the witness was trimmed, the ledger was too slow, and may have missed events.
  if is_before(witness, first[1]) then return 'missed' end
  if #call('XRANGE', key, witness, witness) == 0 then return 'lost' end
  return after ~= '' and is_before(after, first[1]) and 'missed' or 'ok'
end

local function is_earlier_epoch(one, other)
  local number, ledger = string.match(one, '^(%d+)-(.*)$')
  local later, same = string.match(other, '^(%d+)-(.*)$')
  return number ~= nil and ledger == same and tonumber(number) < tonumber(later)
end

local function standing(epoch, witness, after)
  local owner = call('HGET', KEY.meta, 'ledger')
  if not owner then return 'lost' end
  if owner ~= epoch then return is_earlier_epoch(owner, epoch) and 'lost' or 'other' end
  return memory_of(witness, after)
end

-- True if a ledger may rely on what it reads here: it follows or rebuilds this Redis, and this Redis has forgotten nothing that the ledger
-- has seen.
local function is_believed(epoch, witness)
  local epochs = call('HMGET', KEY.meta, 'ledger', 'rebuilding')
  return (epochs[1] == epoch or epochs[2] == epoch) and memory_of(witness, '') ~= 'lost'
end
