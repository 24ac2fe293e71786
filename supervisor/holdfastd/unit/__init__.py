"""The systemd unit and its companion files, written from templates, so that all units stay alike."""
