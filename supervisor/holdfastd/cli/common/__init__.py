"""Parts that several commands share: options, output, exit statuses."""
