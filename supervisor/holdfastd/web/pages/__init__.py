"""The pages of the dashboard, in files by their subject. A page reads the store and hands values to a template."""
