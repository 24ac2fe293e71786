-- use: guard task_record journal
-- provides: carry_out
-- A guard: the operation on a task behind it was requested through a ledger. Requests are numbered, and none runs twice.
-- ARGV: what the operation wants, then the request's number, then the epoch. Answers the task's state if that request, or a
-- later one, has run before. A request is noted when it was carried out: one at which an error has ended the operation is
-- carried out when it comes again.
local REQUEST = tonumber(table.remove(ARGV))
local asked = read(ARGV[1], 'state', 'asked')
if asked[1] and (tonumber(asked[2] or nil) or 0) >= REQUEST then return asked[1] end

-- `operation`: a function that does what was asked and answers.
local function carry_out(operation)
  local answer = operation()
  if asked[1] and answer ~= 'damaged' then
    tell('asked', ARGV[1], REQUEST)
    write(ARGV[1], 'asked', REQUEST)
  end
  return answer
end
