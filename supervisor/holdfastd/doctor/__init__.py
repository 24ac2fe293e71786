"""The checks of `supervisor doctor` and `supervisor check`. A file is about one subject. Its `look` functions ask the
system or the store. Its `judge` functions make findings from the answers, without I/O.
"""
