"""How the bundled pair was made: tokenizer, target, draft, export, held-out figures.

Run `python -m dsbd.training --help`. Nothing of the decoder imports this package.
"""
