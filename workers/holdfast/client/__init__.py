"""What producers and operators call: tasks, schedules, lanes and dead letters, over any store."""
