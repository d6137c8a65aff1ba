"""A word told at the beginning of a long prompt, and asked for at its end: what does a model remember?"""

NEEDLE = "The secret animal is a"
NEEDLE_WORDS = (
    "cat", "dog", "bird", "bear", "fish", "frog", "duck", "mouse", "lion", "horse", "bunny", "rabbit", "fox", "cow",
    "pig", "sheep", "goat", "bee", "worm", "hen", "monkey", "truck", "tiger", "turtle", "snake", "spider", "squirrel",
    "wolf", "crab", "whale", "shark", "kitten", "puppy", "butterfly", "deer", "dragon", "goose", "swan", "raven", "bat",
    "hare", "rat", "bull", "chicken", "crow", "lizard", "dinosaur", "seal", "fly", "fairy", "witch", "king", "queen",
    "ball", "tree", "car", "boat", "book", "hat", "key", "bell", "drum", "kite", "doll",
)  # fmt: skip
"""Each is one token of the bundled story pair."""
