"""The systemd unit and what belongs to it, written from templates, so that the units do not drift apart."""
