"""The verbs of a timeline scheduler, in its formats: other words for schedules."""
