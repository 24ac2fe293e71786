"""The pages: a file for each, which reads the store and hands values to a template of the same name."""
