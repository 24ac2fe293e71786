-- provides: has_begun
-- The begun notes of a worker: task id → the claim under which its handler has ended. While the handler runs the note is '' and
-- counts under each claim: a task may have been claimed anew, and its worker has not read of that yet.
local function has_begun(begun, id, claim)
  local noted = begun[id]
  return noted == '' or noted == claim
end
