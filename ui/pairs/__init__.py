"""The pairs of models in memory, and fetching others."""
