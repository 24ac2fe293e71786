-- use: clock shared_keys task_record
-- provides: error_kinds
-- Kinds of errors (see core/error_kinds.py). A kind has an id: a digest of its handler, and of its text: type, place and message.
-- `errors` and `errors_of:<handler>` have the ids of kinds by their last failure. `error_tasks:<kind>` has the tasks whose last failed run
-- failed with this kind. A task's score is the time of that failure plus the band of what became of the task. So each count is a range.
-- The field `error` of a task's record is `<id of the kind> <text>`. So a lost index can be made anew from the records of the tasks.
-- A handler has at most KINDS kinds. A further kind counts as the kind `other` of the handler. A kind is forgotten with its last task.
-- The functions are defined inside one function, because only calls with a task that has failed need them.
local function error_kinds()
  local KINDS, OTHER = 200, 'other\n\n'
  local BAND = 4398046511104     -- every time in ms is lower
  local FAILED, DEAD = 1, 2      -- bands; 0: the task runs again, was retried, or has ended in another way

  local function id_of(name, text) return string.sub(redis.sha1hex(#name .. ':' .. name .. text), 1, 12) end

  -- The id and the text of the kind in the field `error` of a record; nothing if there is none.
  local function parse(field) return string.match(field or '', '^(%x+) (.*)$') end

  -- True if a handler has KINDS kinds besides `other`.
  local function is_full(of, name) return shared('ZCARD', of) - (shared('ZSCORE', of, id_of(name, OTHER)) and 1 or 0) >= KINDS end

  -- Adds a task to the index of a kind, and makes the kind if it is new. Answers the id of the kind, and its text.
  local function add(id, name, text, at, band)
    local of, kind = KEY.errors_of .. name, id_of(name, text)
    local known = shared('ZSCORE', of, kind)
    if not known and text ~= OTHER and is_full(of, name) then return add(id, name, OTHER, at, band) end
    if not known then
      shared('HSET', KEY.error .. kind, 'name', name, 'text', text)
      shared('HSETNX', KEY.error .. kind, 'first', at)
    end
    shared('ZADD', of, 'GT', at, kind)
    call('ZADD', KEY.errors, 'GT', at, kind)
    shared('ZADD', KEY.error_tasks .. kind, at + band * BAND, id)
    return kind, text
  end

  -- Takes a task out of the kind that its field `error` names. `name`: its handler.
  local function leave(id, field, name)
    local kind = parse(field)
    if not kind then return end
    shared('ZREM', KEY.error_tasks .. kind, id)
    if call('EXISTS', KEY.error_tasks .. kind) == 1 then return end
    call('UNLINK', KEY.error .. kind)
    call('ZREM', KEY.errors, kind)
    shared('ZREM', KEY.errors_of .. (name or ''), kind)
  end

  -- Notes with which kind of error a run of the task has failed. `name`: its handler, or nil. `ends`: the task ends with it; `is_dead`: as a
  -- dead letter.
  local function note(id, name, text, ends, is_dead)
    local before = read(id, 'error')[1]
    local kind, said = add(id, name or '', text, NOW, is_dead and DEAD or ends and FAILED or 0)
    shared('HINCRBY', KEY.error .. kind, 'runs', 1)
    write(id, 'error', kind .. ' ' .. said)
    if before and parse(before) ~= kind then leave(id, before, name) end
  end

  -- Notes that a task was retried: nobody needs to look after it any more.
  local function retried(id)
    local kind = parse(read(id, 'error')[1])
    local score = kind and shared('ZSCORE', KEY.error_tasks .. kind, id)
    if score then shared('ZADD', KEY.error_tasks .. kind, score % BAND, id) end
  end

  -- Adds a task to its kind again, whose index was lost: a ledger puts the task back, or a damaged key was removed.
  local function again(id, is_dead)
    local r = read(id, 'error', 'name', 'state', 'finished', 'created', 'retried_as')
    local _, text = parse(r[1])
    if not text then return end
    local is_over = (r[3] == 'failed' or r[3] == 'rejected') and not r[6]
    local kind, said = add(id, r[2] or '', text, whole(r[4]) or whole(r[5]) or NOW, not is_over and 0 or is_dead and DEAD or FAILED)
    write(id, 'error', kind .. ' ' .. said)
  end

  return {BAND = BAND, note = note, retried = retried, again = again, leave = leave, parse = parse}
end
