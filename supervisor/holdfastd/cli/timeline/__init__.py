"""The timeline commands: schedules with the commands and formats of a timeline scheduler."""
