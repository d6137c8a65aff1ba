"""Makes the bundled pair: tokenizer, target, draft, export, figures on held-out text.

Run `python -m training --help` in a clone; the wheel does not have this package, and the decoder does not import it.
"""
