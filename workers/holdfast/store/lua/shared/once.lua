-- use: guard task_record journal
-- Put before an operation on a task that is asked for through a ledger: requests are numbered, and none is carried out
-- twice. ARGV: what the operation wants, then the request's number, then the epoch. Answers the task's state where that
-- request, or a later one, was carried out before.
local REQUEST = tonumber(table.remove(ARGV))
local asked = read(ARGV[1], 'state', 'asked')
if asked[1] then
  if tonumber(asked[2] or '0') >= REQUEST then return asked[1] end
  write(ARGV[1], 'asked', REQUEST)
  tell('asked', ARGV[1], REQUEST)
end
