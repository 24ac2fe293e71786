"""Services of one process, which forks nothing: a queue in memory, `supervisor work` and `supervisor dispatch`."""
