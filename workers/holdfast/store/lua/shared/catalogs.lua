-- use: workers
-- provides: catalogs
-- Catalogs. A catalog is the set of ids of the schedules that a worker's code declares. Workers that declare the same schedules share one
-- catalog, named by its digest. A worker registers the name of its application ('' for none) and the digest of its catalog; NONE if it
-- declares no schedule.
-- If a worker has registered no catalog, it is unknown what its code declares.
-- The functions are defined inside one function, because few calls need them.
local function catalogs()
  local NONE, AT_ONCE = '-', 1000

  local function set_of(digest) return KEY.catalog .. digest end

  -- Stores a catalog, given as MessagePack. Answers its digest.
  local function keep(packed)
    local ids = cmsgpack.unpack(packed)
    if #ids == 0 then return NONE end
    local digest = redis.sha1hex(packed)
    if call('SADD', KEY.catalog_digests, digest) == 0 and call('EXISTS', set_of(digest)) == 1 then return digest end
    for i = 1, #ids, AT_ONCE do call('SADD', set_of(digest), unpack(ids, i, math.min(i + AT_ONCE - 1, #ids))) end
    return digest
  end

  local function forget_but(used)
    for _, digest in ipairs(call('SMEMBERS', KEY.catalog_digests)) do
      if not used[digest] then
        call('UNLINK', set_of(digest))
        call('SREM', KEY.catalog_digests, digest)
      end
    end
  end

  local function is_known(digest) return digest == NONE or call('EXISTS', set_of(digest)) == 1 end

  local function holds(digest, id) return redis.pcall('SISMEMBER', set_of(digest), id) == 1 end

  -- True if a live worker of this application declares this schedule.
  local function is_declared(id, application)
    local known = {}
    for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
      local r = facts_of_worker(incarnation, 'state', 'application', 'catalog')
      if r[1] == 'live' and r[2] == application and r[3] and not known[r[3]] then
        known[r[3]] = true
        if holds(r[3], id) then return true end
      end
    end
    return false
  end

  return {keep = keep, forget_but = forget_but, is_known = is_known, holds = holds, is_declared = is_declared}
end
