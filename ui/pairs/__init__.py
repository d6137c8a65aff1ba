"""The pairs in memory, and fetching the files of others."""
