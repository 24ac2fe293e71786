-- use: guard task_record journal
-- provides: carry_out
-- A guard: the operation behind it changes a task, and was requested through a ledger. Requests are numbered, and each runs once.
-- ARGV: the arguments of the operation, the number of the request, the ledger's epoch.
-- Answers: the task's state, if this request or a later one has run before; else the operation answers.
-- A request is noted after it was carried out. If an error ends the operation, the repeated request is carried out.
local REQUEST = tonumber(table.remove(ARGV))
local asked = read(ARGV[1], 'state', 'asked')
if asked[1] and (tonumber(asked[2] or nil) or 0) >= REQUEST then return asked[1] end

-- Runs `operation`, a function that carries out the request and answers, unless the request has run before.
local function carry_out(operation)
  local answer = operation()
  if asked[1] and answer ~= 'damaged' then
    tell('asked', ARGV[1], REQUEST)
    write(ARGV[1], 'asked', REQUEST)
  end
  return answer
end
