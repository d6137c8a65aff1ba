"""Decoding states: what a model remembers of one decode."""
