"""Event streams for browsers and programs: the events of the queue, and the events of one task, as they happen."""
