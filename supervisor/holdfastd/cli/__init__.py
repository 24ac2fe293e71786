"""The command line: one file a noun; `main.py` is the entry, `lazy.py` keeps its start fast."""
