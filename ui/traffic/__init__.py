"""Who calls and how often: visitors, quotas, files that they bring, what is logged."""
