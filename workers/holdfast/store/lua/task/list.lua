-- A page of tasks without payloads. Looks at so many records at most.
-- KEYS: the public queue. ARGV: as in listing; no text.
-- Answers: {cursor ('' at the end), tasks looked at, id, record as pairs, dead (1 or 0), pending, …}.
-- flags: no-writes, allow-oom
-- use: listing
return answer_of(function(id, answer)
  for _, item in ipairs({id, call('HGETALL', KEY.task .. id), call('ZSCORE', KEY.dead, id) and 1 or 0,
    call('LLEN', KEY.pending .. id)}) do answer[#answer + 1] = item end
  return 0
end)
