"""Runs on the models for one visitor: a decode, and what stands around every run."""
