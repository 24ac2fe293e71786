-- use: guard task_record journal
-- A guard: the operation on a task behind it was requested through a ledger. Requests are numbered, and none runs twice.
-- ARGV: what the operation wants, then the request's number, then the epoch. Answers the task's state if that request, or a
-- later one, has run before.
local REQUEST = tonumber(table.remove(ARGV))
local asked = read(ARGV[1], 'state', 'asked')
if asked[1] then
  if tonumber(asked[2] or '0') >= REQUEST then return asked[1] end
  write(ARGV[1], 'asked', REQUEST)
  tell('asked', ARGV[1], REQUEST)
end
