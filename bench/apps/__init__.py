"""The systems under measurement, one file each: handlers and a producer. `place` and `producer` are shared by all."""
