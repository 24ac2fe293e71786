-- Before every operation: what a server's Lua has and the one inside this process has not.
local redis, cjson, cmsgpack = (function()
  local beneath = python.eval("__import__('importlib').import_module('holdfast.store.memory.lua_runtime')")
  local function new() return {} end
  return {call = redis.call, pcall = redis.pcall, sha1hex = beneath.sha1hex},
    {decode = function(raw) return beneath.decode(raw, new) end, encode = beneath.encode},
    {unpack = function(raw) return beneath.unpack(raw, new) end}
end)()
