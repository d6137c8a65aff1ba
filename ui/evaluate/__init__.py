"""The Evaluate tab: decoders on tasks."""
