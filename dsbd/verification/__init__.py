"""The distribution of decoding: host arithmetic on plain numbers, no torch and no model.

Read in this order: beams, distributions, forest, width, verified, verify. Every example is worked out on one toy
(``toy``).

*Source:* docs/algorithm.md.
"""
