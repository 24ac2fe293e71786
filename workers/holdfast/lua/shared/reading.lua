-- use: limits
-- What a foreign entry says, or why it cannot be understood. Nothing here writes.
local VERBS = {run = true, cancel = true, pause = true, resume = true}
local ID = '^[%w._@%-]+$'

-- The worker's parser refuses broken UTF-8; refuse it here, before a task is made of it.
local function is_utf8(raw)
  if not string.find(raw, '[\128-\255]') then return true end
  for _, form in ipairs({
    '\240[\144-\191][\128-\191][\128-\191]', '[\241-\243][\128-\191][\128-\191][\128-\191]', '\244[\128-\143][\128-\191][\128-\191]',
    '\224[\160-\191][\128-\191]', '[\225-\236\238\239][\128-\191][\128-\191]', '\237[\128-\159][\128-\191]', '[\194-\223][\128-\191]',
  }) do raw = string.gsub(raw, form, ' ') end
  return not string.find(raw, '[\128-\255]')
end

local function identity(message_id, raw)
  if type(message_id) ~= 'string' or message_id == '' then return redis.sha1hex(raw) end
  if #message_id <= 64 and string.find(message_id, ID) then return message_id end
  return redis.sha1hex(message_id)
end

-- Answers verb, task id, message id; or nil and the reason.
local function understand(raw)
  if not is_utf8(raw) then return nil, 'not UTF-8' end
  local parsed, envelope = pcall(cjson.decode, raw)
  if not parsed or type(envelope) ~= 'table' then return nil, 'not a JSON object' end
  local verb, params = envelope.operation, envelope.params
  if verb == nil and type(envelope.type) == 'string' then verb, params = envelope.type, envelope end
  if type(verb) ~= 'string' or not VERBS[verb] then return nil, 'unknown operation' end
  if type(params) ~= 'table' then return nil, 'no params' end
  local id = params.task_id
  if type(id) ~= 'string' then return nil, 'no task id' end
  if #id > 128 or not string.find(id, ID) then return nil, 'bad task id' end
  local message = params.message
  return verb, id, identity(type(message) == 'table' and message.message_id or nil, raw)
end
