-- use: serving
-- Which schedules the code of live workers declares. A worker registers the name of its application ('' for none) and its
-- catalog: the ids of the schedules that its code declares. A worker without a catalog is of an earlier version: nothing is
-- known of its code. Only a supervisor's pool tells that its application serves: it may run elsewhere in part, as in one process.
-- A function that makes functions: it is seldom needed.
local function catalogs()
  local complete, parts, ids_of, pools, any = true, {}, {}, {}, {}

  local function add(application, digest)
    local packed = digest and call('HGET', T .. 'catalogs', digest)
    if not packed then
      complete = false
      return
    end
    ids_of[application] = ids_of[application] or {}
    for _, id in ipairs(cmsgpack.unpack(packed)) do
      ids_of[application][id] = true
      any[id] = true
    end
  end

  local known = {}
  for _, worker in ipairs(serving().living()) do
    local application = worker.application or ''
    local part = application .. ' ' .. tostring(worker.catalog) .. ' ' .. tostring(worker.kind)
    if not known[part] then
      known[part] = true
      parts[#parts + 1] = part
      add(application, worker.catalog)
    end
    if application ~= '' and worker.kind == 'worker' then pools[application] = true end
  end
  table.sort(parts)

  -- By a live worker of this application; of any, where none is named.
  local function is_declared(id, application)
    if not application then return any[id] == true end
    return (ids_of[application] or {})[id] == true
  end

  -- Changes when live workers declare something else, or a schedule of the code comes or goes.
  local function picture()
    return redis.sha1hex(table.concat(parts, '|')) .. ' ' .. call('SCARD', T .. 'declared')
  end

  -- Schedules of the code that no live worker declares, as {id, owner}: those whose application serves, and the others.
  -- None where the code of a live worker is not known, or no worker lives.
  local function undeclared(owner_of)
    local gone, rest = {}, {}
    if not complete or #parts == 0 then return gone, rest end
    local ids = call('SMEMBERS', T .. 'declared')
    table.sort(ids)
    for _, id in ipairs(ids) do
      local owner = owner_of(id)
      if pools[owner] then
        if not is_declared(id, owner) then gone[#gone + 1] = {id, owner} end
      elseif not any[id] then
        rest[#rest + 1] = {id, owner}
      end
    end
    return gone, rest
  end

  return {is_declared = is_declared, picture = picture, undeclared = undeclared}
end
