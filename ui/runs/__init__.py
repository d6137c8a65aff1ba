"""Runs on the models for one visitor: a decode, a comparison, and what is said when they end."""
