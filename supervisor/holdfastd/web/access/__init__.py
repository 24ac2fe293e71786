"""Access to the dashboard: accounts, sessions, allowed hosts, and the guard in front of every page."""
