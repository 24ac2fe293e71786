-- Keep an application's data of a conversation. An unknown conversation is opened, without an owner.
-- KEYS: the public queue. ARGV: context id, data.
-- Answers: OK.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: conversations
open_conversation(ARGV[1], '')
call('HSET', conversation_of(ARGV[1]), 'data', ARGV[2])
return 'OK'
