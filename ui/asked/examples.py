"""Example prompts by the word on their button: stories, questions to SQL, a chapter, and openings for general models.

Each set has the same number, so that the buttons keep their places.
"""

from dsbd.assets import asset_path

STORIES = {
    "Fox": "Once upon a time, there was a little fox who",
    "Box": "Lily and Ben found a strange box in the garden. Inside the box",
    "Clock": 'The old clock on the wall said, "',
    "Dragon": "One cold morning, the smallest dragon in the village woke up and",
}
QUESTIONS = {
    "Cities": "Q: How many old branches are there in each city?\nSQL:",
    "Members": "Q: Which members have the most loans?\nSQL:",
    "Books": "Q: Show the titles of long books not written in French.\nSQL:",
    "Prizes": "Q: Which authors have won more prizes than the average?\nSQL:",
}
CHAPTERS = {
    "Oz": asset_path("chapters/oz.txt").read_text(encoding="utf-8").rstrip("\n"),
    **{word: STORIES[word] for word in ("Fox", "Box", "Clock")},
}
"""The chapter does not fit the context of the bundled models, so only a memory can read it."""
OPENINGS = {
    "City": "The three things to see first in Lisbon are",
    "Bread": "To bake a simple bread you need",
    "Stars": "Stars twinkle because",
    "Python": "def is_prime(n):\n",
}
OF_TARGET = {"bundled/target": STORIES, "bundled:sql/target": QUESTIONS, "bundled:memory/target": CHAPTERS}


def examples_for(target: str) -> dict[str, str]:
    """Return {word: prompt} for the target model of this name."""
    return OF_TARGET.get(target, OPENINGS)


def first_example(target: str) -> str:
    return next(iter(examples_for(target).values()))
