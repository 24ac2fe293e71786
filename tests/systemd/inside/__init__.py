"""The part that runs under a real systemd, as root of a machine that is thrown away afterwards."""
