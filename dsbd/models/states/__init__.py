"""Rows: the kinds of memory that a model has of one decode, and the choice among them."""
