"""The checks of `supervisor doctor` and `supervisor check`. A file is one subject: its `look` functions read the world,
its `judge` functions turn the answers into findings and do no I/O.
"""
