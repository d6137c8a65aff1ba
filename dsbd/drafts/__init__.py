"""Where guesses come from: a protocol, and the sources of this package."""
