"""Decides who may see and change what: accounts, sessions, hosts, and the guard in front of every page."""
