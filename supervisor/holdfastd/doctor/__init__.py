"""The checks of `supervisor doctor` and `supervisor check`: one file a subject, `look()` beside the pure `judge()`."""
