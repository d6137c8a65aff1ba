"""Who calls and how often: visitors, quotas, uploads, the log."""
