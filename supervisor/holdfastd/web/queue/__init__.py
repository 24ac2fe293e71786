"""The queue that the process serves: what pages, the API and changes read of it and do with it."""
