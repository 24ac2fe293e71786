"""The command line `supervisor`: one file for each noun. `main.py` is the entry; `command_table.py` imports a command
only when it is called."""
