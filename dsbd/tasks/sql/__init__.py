"""Questions to SQL: running queries safely, comparing their rows, and the bundled questions about a library."""
