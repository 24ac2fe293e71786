"""The agent protocol A2A: tasks and changes as clients see them, in the forms of A2A 1.0 and 0.3. No I/O."""
