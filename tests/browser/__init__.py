"""The dashboard in a real browser: Debian's Chromium, which `make test-browser` drives."""
