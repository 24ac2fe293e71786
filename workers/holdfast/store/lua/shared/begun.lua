-- provides: has_begun
-- What a worker has begun: task id → the claim under which its handler has ended; '' while it runs, as then it counts under each
-- claim: the worker goes on under one that it has not read of yet.
local function has_begun(begun, id, claim)
  local noted = begun[id]
  return noted == '' or noted == claim
end
