"""Prompts to begin with, each with the word its button shows; the bundled pair tells simple stories."""

EXAMPLES = {
    "Fox": "Once upon a time, there was a little fox who",
    "Box": "Lily and Ben found a strange box in the garden. Inside the box",
    "Clock": 'The old clock on the wall said, "',
    "Dragon": "One cold morning, the smallest dragon in the village woke up and",
}
FIRST = EXAMPLES["Fox"]
