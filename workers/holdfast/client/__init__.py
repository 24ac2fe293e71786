"""The API of producers and operators: tasks, schedules, lanes and dead letters, over any store."""
