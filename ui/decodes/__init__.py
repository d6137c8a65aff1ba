"""A decode as the page shows it: recordings, traces, messages to the scripts, the list of a visit."""
