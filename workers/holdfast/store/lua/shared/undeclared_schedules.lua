-- use: workers schedules catalogs
-- provides: undeclared
-- Finds schedules of code that no live worker declares. The search works in steps: first through all workers, then through all such
-- schedules.
-- A token says how far it came. Its lines: `mark` (the state of workers and schedules at the beginning); what it goes through now (workers,
-- schedules, or nothing: it has ended); the cursor there; then one line for each sort of worker: digest of its catalog, state, kind,
-- application.
-- The search begins anew when a worker comes, goes or begins to drain, or when a schedule of code comes or goes.
-- Only a worker of a supervisor's pool shows that its application serves. A process with one worker may run only a part of an application.
-- The functions are defined inside one function, because few calls need them.
local function undeclared(token)
  local WORKERS = 500      -- workers that one step looks at
  local schedules, code = scheduling(), catalogs()

  local function mark() return roster() .. ' ' .. call('SCARD', KEY.declared) end

  local function read_token()
    local lines, sorts = {}, {}
    for line in string.gmatch(token, '[^\n]+') do
      if #lines < 3 then lines[#lines + 1] = line else sorts[#sorts + 1] = line end
    end
    return {mark = lines[1], at = lines[2], cursor = lines[3], sorts = sorts}
  end

  local look = read_token()
  local begins = look.mark ~= mark()
  local idle = not begins and look.at == 'nothing'
  if begins then look = {at = 'workers', cursor = '0', sorts = {}} end

  local known = {}
  for _, sort in ipairs(look.sorts) do known[sort] = true end

  local function go_to(place) look.at, look.cursor = place, '0' end

  -- If the catalog of a live worker is unknown, the search can find nothing.
  local function see_worker(incarnation)
    local r = facts_of_worker(incarnation, 'state', 'catalog', 'kind', 'application')
    if not r[1] or (r[1] == 'live' and not r[2]) then return go_to('nothing') end
    local sort = r[2] and r[2] .. ' ' .. r[1] .. ' ' .. tostring(r[3]) .. ' ' .. (r[4] or '')
    if sort and not known[sort] then
      known[sort] = true
      look.sorts[#look.sorts + 1] = sort
    end
  end

  -- Looks at workers. Answers the catalogs in use, after all workers were seen.
  local function see_workers()
    local r = call('ZSCAN', KEY.workers, look.cursor, 'COUNT', WORKERS)
    local cursor, found = r[1], r[2]
    for i = 1, #found, 2 do
      see_worker(found[i])
      if look.at ~= 'workers' then return nil end
    end
    look.cursor = cursor
    if cursor ~= '0' then return nil end
    go_to('schedules')
    local used = {}
    for _, sort in ipairs(look.sorts) do used[string.match(sort, '^%S+')] = true end
    return used
  end

  -- Two answers: the catalogs of live workers; the applications that serve. nil if a catalog is unknown, or no worker lives.
  local function declaring()
    local digests, pools, met = {}, {}, {}
    for _, sort in ipairs(look.sorts) do
      local digest, state, kind, application = string.match(sort, '^(%S+) (%S+) (%S+) (.*)$')
      if state == 'live' and not met[digest] then
        if not code.is_known(digest) then return nil end
        met[digest] = true
        digests[#digests + 1] = digest
      end
      if state == 'live' and application ~= '' and kind == 'worker' then pools[application] = true end
    end
    return #digests > 0 and digests, pools
  end

  local function is_declared(id, digests)
    for _, digest in ipairs(digests) do
      if code.holds(digest, id) then return true end
    end
    return false
  end

  -- Two lists of {id, owner} of schedules that no live worker declares: those whose application serves; the others.
  local function see_schedules(count)
    local gone, rest = {}, {}
    local digests, pools = declaring()
    if not digests then
      go_to('nothing')
      return gone, rest
    end
    local r = call('SSCAN', KEY.declared, look.cursor, 'COUNT', count)
    local cursor, found = r[1], r[2]
    for _, id in ipairs(found) do
      if not is_declared(id, digests) then
        local owner = schedules.owner(id)
        local into = pools[owner] and gone or rest
        into[#into + 1] = {id, owner}
      end
    end
    look.cursor = cursor
    if cursor == '0' then go_to('nothing') end
    return gone, rest
  end

  -- Does one step, with about `count` schedules. Three answers: the schedules to remove, the other undeclared ones, and the catalogs in use
  -- (if known by now).
  local function step(count)
    local used = look.at == 'workers' and see_workers() or nil
    if look.at ~= 'schedules' then return {}, {}, used end
    local gone, rest = see_schedules(count)
    return gone, rest, used
  end

  -- {token, 1 if the search has begun anew, 1 if it has more steps}. The mark is taken now, so schedules that the caller has just removed
  -- do not make the search begin anew.
  local function progress()
    if idle then return {token, 0, 0} end
    local lines = {mark(), look.at, look.cursor}
    for _, sort in ipairs(look.sorts) do lines[#lines + 1] = sort end
    return {table.concat(lines, '\n'), begins and 1 or 0, look.at == 'nothing' and 0 or 1}
  end

  return {step = step, progress = progress}
end
