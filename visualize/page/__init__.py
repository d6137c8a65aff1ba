"""The page: forms, handlers and the state of each visitor."""
