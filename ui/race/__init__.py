"""The Race tab: decoders on one clock."""
