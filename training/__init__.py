"""How the bundled pair was made: tokenizer, target, draft, export, held-out figures.

Run `python -m training --help` in a clone; the wheel does not have this package, and the decoder does not import it.
"""
