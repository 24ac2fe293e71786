"""Events as they happen, sent to browsers and programs: those of the queue, and those of one task."""
