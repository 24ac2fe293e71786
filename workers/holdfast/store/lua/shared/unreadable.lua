-- use: clock limits journal
-- What cannot be understood or can no longer be run is set aside with its reason, never dropped in silence.
-- `lane`: where it goes when somebody wants it read again.
local SPELLED = {['%'] = '%25', ['|'] = '%7C'}

local function set_aside(reason, raw, lane)
  local kept = T .. 'unreadable'
  call('RPUSH', kept, NOW .. '|' .. #raw .. '@' .. string.gsub(lane, '[%%|]', SPELLED) .. '|' .. string.gsub(reason, '|', '/') .. '|' .. string.sub(raw, 1, UNREADABLE_BYTES))
  call('LTRIM', kept, -UNREADABLE_KEPT, -1)
  count('unreadable')
end
