"""Looking at what a supervisor needs, without starting one: facts are seen in `looks`, and judged beside it."""
