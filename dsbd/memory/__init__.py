"""Hierarchical memory (HMT): a prompt longer than the window, read segment by segment into one embedding."""
