"""Runs on the models for one visitor: a decode, a comparison, and what stands around every run."""
