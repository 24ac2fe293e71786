-- provides: has_begun
-- The begun notes of a worker: task id → the claim under which its handler has ended; '' while the handler runs. A note '' counts under
-- every claim, because the task may have been claimed again and the worker may not have read that claim yet.
local function has_begun(begun, id, claim)
  local noted = begun[id]
  return noted == '' or noted == claim
end
