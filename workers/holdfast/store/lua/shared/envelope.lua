-- provides: envelope_reader
-- Reads entries that foreign producers have pushed. Nothing here writes.
-- The functions are defined inside one function, because most calls need none.
local function envelope_reader()
  local VERBS = {run = true, cancel = true, pause = true, resume = true}
  local ID = '^[%w._@%-]+$'

  -- True if the text is valid UTF-8. The worker's parser refuses other texts, so they are refused here, before a task is made.
  local function is_utf8(raw)
    if string.find(raw, '^[%z\1-\127]*$') then return true end
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

  -- The name of the handler that a message calls, or ''.
  local NAME_BYTES = 800
  local function call_in(message)
    for _, part in ipairs(type(message) == 'table' and type(message.parts) == 'table' and message.parts or {}) do
      local data = type(part) == 'table' and part.kind == 'data' and part.data
      if type(data) == 'table' and type(data.name) == 'string' and type(data.kwargs) == 'table' then
        return #data.name <= NAME_BYTES and data.name or ''
      end
    end
  end

  local function name_in(params)
    for _, message in ipairs(type(params.messages) == 'table' and params.messages or {}) do
      local name = call_in(message)
      if name then return name end
    end
    return call_in(params.message) or ''
  end

  -- The null of JSON is a userdata, here and in the store in memory.
  local function is_absent(value) return value == nil or type(value) == 'userdata' end

  local function says_something(said) return type(said) == 'table' and next(said) ~= nil end

  -- Parses an entry. Answers verb, task id, message id ('' for an order without a message) and handler name; or nil and the reason for
  -- which the entry cannot be read.
  local function understand(raw)
    if not is_utf8(raw) then return nil, 'not UTF-8' end
    local parsed, envelope = pcall(cjson.decode, raw)
    if not parsed or type(envelope) ~= 'table' then return nil, 'not a JSON object' end
    local verb, params = envelope.operation, envelope.params
    if is_absent(verb) and type(envelope.type) == 'string' then verb, params = envelope.type, envelope end
    if type(verb) ~= 'string' or not VERBS[verb] then return nil, 'unknown operation' end
    if type(params) ~= 'table' then return nil, 'no params' end
    local id = params.task_id
    if type(id) ~= 'string' then return nil, 'no task id' end
    if #id > 128 or not string.find(id, ID) then return nil, 'bad task id' end
    local message = params.message
    local speaks = verb == 'run' or (verb == 'resume' and (says_something(message) or says_something(params.messages)))
    if not speaks then return verb, id, '', '' end
    return verb, id, identity(type(message) == 'table' and message.message_id or nil, raw), name_in(params)
  end

  return understand
end
