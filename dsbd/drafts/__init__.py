"""Where guesses come from: a protocol, the sources of this package, and those that a name stands for."""

from dsbd.drafts.lookup import LOOKUP, PromptLookup
from dsbd.drafts.source import DraftSource

NAMED: dict[str, type[DraftSource]] = {LOOKUP: PromptLookup}
"""Draft sources by name: what ``load_pair`` and the command line take as the draft, and the id in their record."""
