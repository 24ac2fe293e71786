-- use: workers
-- provides: has_name serving
-- The workers that serve a lane and a handler's name ('' for tasks that name none). A worker that has registered no lanes, or no names,
-- counts as serving all of them. A worker that drains, or that claims only suspects, serves nothing.
local have = {}   -- answers of has_name, kept because many workers register the same names
-- True if a worker that has registered `names` ('*', a digest, or false) has a handler of this name.
local function has_name(names, name)
  if not names or names == '*' then return true end
  local asked = names .. ' ' .. name
  if have[asked] == nil then have[asked] = redis.pcall('SISMEMBER', KEY.names .. names, name) == 1 end
  return have[asked]
end

-- The functions are defined inside one function, because few calls need them.
local function serving()
  local workers, pool, known = nil, nil, {}

  local function decode(text)
    local lanes = {}
    for _, lane in ipairs(cjson.decode(text)) do lanes[lane[1]] = lane end
    return lanes
  end

  -- The lanes in a registered text; nil if it cannot be read, so that its worker counts as serving all lanes. Each text is decoded once,
  -- because many workers register the same.
  local function lanes_in(text)
    if known[text] == nil then
      local went, lanes = pcall(decode, text)
      known[text] = went and lanes
    end
    return known[text] or nil
  end

  -- All live workers, of any kind.
  local function living()
    if workers then return workers end
    workers = {}
    for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
      local r = facts_of_worker(incarnation, 'state', 'lanes', 'names', 'kind', 'host', 'slot', 'pid', 'quiet', 'limits',
        'application', 'catalog')
      if r[1] == 'live' then
        workers[#workers + 1] = {incarnation = incarnation, lanes = r[2] and lanes_in(r[2]) or nil, names = r[3], kind = r[4], host = r[5],
          slot = r[6], pid = r[7], quiet = r[8], limits = r[9], application = r[10], catalog = r[11]}
      end
    end
    return workers
  end

  local function all()
    if pool then return pool end
    pool = {}
    for _, worker in ipairs(living()) do
      if worker.kind ~= 'quarantine' then pool[#pool + 1] = worker end
    end
    return pool
  end

  local function has_lane(worker, lane) return not worker.lanes or worker.lanes[lane] ~= nil end

  -- The workers that serve this lane and, if a name is given, have the handler of this name.
  local function servers(lane, name)
    local found = {}
    for _, worker in ipairs(all()) do
      if has_lane(worker, lane) and (not name or has_name(worker.names, name)) then found[#found + 1] = worker end
    end
    return found
  end

  -- True if a supervisor that forks quarantine workers serves this lane and name.
  local function is_supervised(lane, name)
    for _, worker in ipairs(living()) do
      local forks = worker.kind == 'worker' or worker.kind == 'quarantine'
      if forks and has_lane(worker, lane) and has_name(worker.names, name) then return true end
    end
    return false
  end

  -- All lanes that a worker serves.
  local function lanes()
    local found = {}
    for _, worker in ipairs(all()) do
      for lane in pairs(worker.lanes or {}) do found[lane] = true end
    end
    return found
  end

  return {living = living, all = all, servers = servers, lanes = lanes, is_supervised = is_supervised}
end
