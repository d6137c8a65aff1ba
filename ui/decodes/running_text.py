"""The running text: the best hypothesis token by token, with the origin of each, and what is settled."""

from dataclasses import dataclass

from visualize.scenes.records import Scene, TokenScene
from visualize.tokens import flowing

from .recording import Recording

ROOT = 0
"""The node that stands for the prompt."""


@dataclass(frozen=True)
class Token:
    """One token of the running text. Its text is untrusted: the page writes it as text, never as markup."""

    text: str
    origin: str
    """``accepted``, ``recovered``, ``fresh`` or ``bonus``."""
    settled: bool
    """True where every possible result has it."""


@dataclass(frozen=True)
class RunningText:
    """The prompt and what follows it."""

    prompt: str
    """As typed, or what is in the window of a long prompt; characters that would not print are made visible."""
    tokens: tuple[Token, ...]
    ended: bool
    """True where the hypothesis ended by itself."""


def running_text(recording: Recording) -> RunningText:
    """Return the hypothesis that is best so far, or the returned one.

    A trace without a result that was opened from a file does not say what was best: then it is the likeliest beam.
    """
    scene = recording.scene(last=1)
    node, ended = _likeliest(scene) if recording.best is None else (recording.best.node, recording.best.finished)
    path = _path(node, {token.id: token for token in scene.tokens})
    shown = []
    for place, token in enumerate(path):
        is_last = place == len(path) - 1
        text = "" if is_last and ended else token.text + (token.pending if is_last else "")
        shown.append(Token(text, token.origin, place < recording.settled))
    prompt = flowing(recording.prompt) if scene.memory is None else f"… {scene.memory.segments[-1].text.lstrip()}"
    return RunningText(prompt, tuple(shown), ended and bool(path))


def _likeliest(scene: Scene) -> tuple[int, bool]:
    """Return node and end of the likeliest beam after the last iteration."""
    beams = scene.iterations[-1].beams_after if scene.iterations else ()
    best = max(beams, key=lambda beam: beam.log_weight, default=None)
    return (ROOT, False) if best is None else (best.node, best.finished)


def _path(node: int, tokens: dict[int, TokenScene]) -> list[TokenScene]:
    """Return the tokens from the prompt to a node."""
    path = []
    while node in tokens:
        path.append(tokens[node])
        node = tokens[node].parent
    return path[::-1]
