"""The systemd unit of a service, and the files beside it. They are made from templates, so that all units are alike."""
