"""The running text: the best hypothesis token by token, where each token came from, and what is settled."""

from dataclasses import dataclass

from visualize.scenes.records import Scene, TokenScene
from visualize.scenes.tokens import flowing

from .recording import Recording


@dataclass(frozen=True)
class Token:
    """One token of the running text. Untrusted text: the page writes it as text, never as markup."""

    text: str
    origin: str
    """``accepted``, ``recovered``, ``fresh`` or ``bonus``."""
    settled: bool
    """True where every possible result has it."""


@dataclass(frozen=True)
class RunningText:
    """The prompt and what follows it."""

    prompt: str
    """As typed, without special tokens; characters that would not print are made visible."""
    tokens: tuple[Token, ...]
    ended: bool
    """True where the hypothesis ended by itself."""


def running_text(recording: Recording) -> RunningText:
    """The hypothesis that is best so far, or the returned one."""
    scene = recording.scene(last=1)
    tokens = {token.id: token for token in scene.tokens}
    paths = [_path(node, tokens) for node in _candidates(recording, scene)]
    best = paths[0] if paths else []
    settled = len(best) if recording.result is not None else _common(paths)
    ended = bool(best) and best[-1] in {node for node, _ in recording.finished}
    shown = []
    for place, node in enumerate(best):
        token, last = tokens[node], place == len(best) - 1
        text = "" if last and ended else token.text + (token.pending if last else "")
        shown.append(Token(text, token.origin, place < settled))
    return RunningText(flowing(recording.prompt), tuple(shown), ended)


def _candidates(recording: Recording, scene: Scene) -> list[int]:
    """Nodes that the result is or descends from, best score first: alive beams and the best finished one."""
    if recording.result is not None:
        return [beam.node for beam in recording.result.beams[:1]]
    if not scene.iterations:
        return []
    tokens = {token.id: token for token in scene.tokens}
    alive = [(beam.node, beam.log_weight) for beam in scene.iterations[-1].beams_after if not beam.finished]

    def score(beam: tuple[int, float]) -> float:
        return beam[1] / max(len(_path(beam[0], tokens)), 1) ** recording.length_penalty

    best = sorted(recording.finished, key=score, reverse=True)[:1]
    return [node for node, _ in sorted(best + alive, key=score, reverse=True)]


def _path(node: int, tokens: dict[int, TokenScene]) -> list[int]:
    path = []
    while node in tokens:
        path.append(node)
        node = tokens[node].parent
    return path[::-1]


def _common(paths: list[list[int]]) -> int:
    """Length of the common beginning."""
    if not paths:
        return 0
    shared = 0
    for column in zip(*paths, strict=False):
        if len(set(column)) > 1:
            break
        shared += 1
    return shared
