"""The pages of the dashboard, by what they show: each reads the store and hands values to a template."""
