#!/bin/sh
# Counts words as examples/wordcount.py does, but as a command: of the file that the message names, or of the message.
#
#     supervisor start --exec examples/wordcount.sh
#     supervisor submit --wait /usr/share/common-licenses/GPL-3
#
# Standard input is the task as JSON, standard output its result. 65 says that this message will never do (sysexits.h).

text=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["messages"][-1]["parts"][0]["text"])' 2>/dev/null) || {
    echo "send a path or a text" >&2
    exit 65
}
if [ -f "$text" ]; then
    words=$(wc -w <"$text") || exit 65
else
    words=$(printf '%s\n' "$text" | wc -w)
fi
printf '{"words": %d}\n' "$words"
