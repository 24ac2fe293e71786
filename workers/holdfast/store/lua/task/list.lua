-- A page of tasks without payloads. One call looks at a bounded number of records.
-- KEYS: the public queue. ARGV: as in the shared part `listing`, without a text.
-- Answers: {cursor ('' at the end), tasks looked at, then for each task: id, record as pairs, dead letter (1 or 0), number of pending
--       messages}.
-- flags: no-writes, allow-oom
-- use: listing
return answer_of(function(id, answer)
  for _, item in ipairs({id, call('HGETALL', KEY.task .. id), call('ZSCORE', KEY.dead, id) and 1 or 0,
    call('LLEN', KEY.pending .. id)}) do answer[#answer + 1] = item end
  return 0
end)
