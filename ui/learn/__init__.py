"""The Learn tab: lessons and recordings, without a model."""
