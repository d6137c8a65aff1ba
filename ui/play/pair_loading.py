"""The fold "Models": which pair decodes, what another would take, fetching it, reading it into memory.

Each visitor chooses, and the choice is part of each of its calls. A fetch runs beside the other calls. Reading into
memory waits in the line for the models, so that no run uses the memory meanwhile. Neither has a time limit; both end
when the visitor cancels or leaves. The visitor's pair changes only after the new pair has passed its checks.
"""

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from html import escape
from typing import Any, NamedTuple

import gradio as gr

from dsbd.errors import DsbdError, PairError, StoppedError
from dsbd.models.free_memory import free_bytes, in_gigabytes
from dsbd.models.pair import Pair
from dsbd.models.presets import PRESETS, Preset

from ..engine import Engine
from ..pairs.apart import trying
from ..pairs.fetch import Wanted, fetched, wanted
from ..pairs.shelf import PAGE, PairName, public_key
from ..parts.components import markup
from ..parts.wiring import ON_GPU, PRIVATE, session_of
from ..runs.around import KEEP, stop_calls
from ..runs.sentences import alert, sentence

CANCELLED = "Cancelled. The page goes on with the pair it had; what was fetched stays on this machine."
LONGEST_NAME = 300
ONE_FETCH: dict[str, Any] = {"concurrency_id": "fetch", "concurrency_limit": 1}


class Frame(NamedTuple):
    """The next state of the drawer, in the order of its outputs."""

    said: Any = KEEP
    load: Any = KEEP
    cancel: Any = KEEP
    fetched: Any = KEEP
    """Key of the pair whose files are here; empty if there is none."""
    chosen: Any = KEEP
    which: Any = KEEP


def build_pairs_panel(engine: Engine) -> tuple[gr.State, gr.Radio]:
    """The drawer. Returns the key of the visitor's pair, to whose ``change`` parts listen, and where it is chosen."""
    chosen = gr.State(PAGE)

    def choose(key: Any) -> str:
        return next((one for one in engine.pairs.available() if public_key(one) == key), PAGE)

    def offer() -> dict[str, Any]:
        return gr.update(choices=choices(engine))

    with gr.Accordion("Models", open=False, elem_classes="fold", elem_id="models") as drawer:
        which = gr.Radio(choices(engine), value=PAGE, label="Pair", elem_id="pair")
        if engine.allowed:
            _own_pairs(engine, chosen, which)
    which.change(choose, which, chosen, **PRIVATE)  # only queued events report a changed state
    drawer.expand(offer, outputs=which, queue=False, **PRIVATE)
    return chosen, which


def _own_pairs(engine: Engine, chosen: gr.State, which: gr.Radio) -> None:
    presets = [(f"{one.draft.id} + {one.target.id}", place) for place, one in enumerate(engine.allowed.presets())]
    info = "Nothing is fetched before you press Load"
    shown: dict[str, Any] = {"label": "A known pair", "info": info, "visible": bool(presets), "elem_id": "preset"}
    preset = gr.Dropdown(presets, value=None, filterable=False, **shown)
    target = gr.Textbox(label="Target: folder or hub id", max_lines=1, elem_id="own-target")
    draft = gr.Textbox(label="Draft: folder or hub id, same vocabulary", max_lines=1, elem_id="own-draft")
    with gr.Row(elem_classes="tools"):
        ask = gr.Button("What would it take?", size="sm", elem_id="look", min_width=0)
        load = gr.Button("Load", size="sm", variant="primary", visible=False, elem_id="load", min_width=0)
        cancel = gr.Button("Cancel", size="sm", variant="stop", visible=False, elem_id="cancel-load", min_width=0)
    said = markup("", elem_id="models-said")
    ready = gr.State("")
    outputs = [said, load, cancel, ready, chosen, which]

    def fill(place: int | None) -> tuple[Any, Any]:
        if place is None:
            return gr.skip(), gr.skip()
        one = engine.allowed.presets()[place]
        return one.target.id, one.draft.id

    def fetching(request: gr.Request, *names: Any) -> Iterator[Frame]:
        yield from fetch(engine, session_of(request), *names)

    def reading(request: gr.Request, key: str) -> Iterator[Frame]:
        yield from read(engine, session_of(request), key)

    async def cancel_all(request: gr.Request) -> Frame:
        await stop_calls(engine, request, cancel)
        return cancelled()

    names, told = [target, draft], partial(look, engine)
    filled = preset.input(fill, preset, names, queue=False, **PRIVATE)
    filled.then(told, names, outputs, **PRIVATE)
    ask.click(told, names, outputs, **PRIVATE)
    other_names = [target.input, draft.input]
    gr.on(other_names, lambda: gr.update(visible=False), outputs=load, queue=False, **PRIVATE)
    loads = load.click(fetching, names, outputs, **PRIVATE, **ONE_FETCH)
    loads.then(reading, ready, outputs, **PRIVATE, **ON_GPU)
    cancel.click(cancel_all, outputs=outputs, queue=False, **PRIVATE)


def choices(engine: Engine) -> list[tuple[str, str]]:
    """The pairs that can be chosen now: a label, and the public key."""
    return [(engine.pairs.words(key), public_key(key)) for key in engine.pairs.available()]


def look(engine: Engine, target: Any, draft: Any) -> Frame:
    """Say what the pair would take; nothing is fetched."""
    try:
        name = _name_of(engine, target, draft)
    except DsbdError as error:
        return _ready(alert(sentence(error)))
    try:
        models = _wanted(name)
    except DsbdError as error:
        preset = _preset_of([name.target, name.draft or ""])
        known = _note(f"{_computed(preset)} {_terms(preset)}") if preset else ""
        return _ready(alert(sentence(error)) + known)
    return _ready(_told(engine, models))._replace(load=gr.update(visible=True))


def fetch(engine: Engine, session: str, target: Any, draft: Any) -> Iterator[Frame]:
    """Fetch what is not on this machine yet; the last frame names the pair, or says what went wrong."""
    yield _busy("Asking what is missing …")
    try:
        name = _name_of(engine, target, draft)
        models = _wanted(name)
        with engine.visitors.aside(session) as stop:
            for model in filter(lambda one: one.files, models):
                with closing(fetched(model)) as progress:
                    for size in progress:
                        if stop():
                            break
                        yield _busy(_so_far(model, size))
            is_cancelled = stop()
    except DsbdError as error:
        yield _ready(alert(sentence(error)))
        return
    if is_cancelled:
        yield cancelled()
        return
    yield _busy("Everything is on this machine. Waiting for the models to be free …")._replace(fetched=name.key)


def read(engine: Engine, session: str, key: str) -> Iterator[Frame]:
    """Read a fetched pair into memory and check it; no run goes on meanwhile."""
    if not key:
        return
    name = PairName.of(key)
    try:
        for model in filter(None, name):
            engine.allowed.require(model)
        with engine.visitors.run(session, float("inf")) as stop, engine.alone(stop):
            pair = yield from _loaded(_tried_first(engine, name), stop)
        if pair is None:
            raise StoppedError(CANCELLED)
        if pair.draft is None:
            raise PairError("the pair has no draft model; name one")
        engine.pairs.put(key, pair)
    except StoppedError:
        yield cancelled()
        return
    except DsbdError as error:
        yield _ready(alert(f"{sentence(error)} The page goes on with the pair it had."))
        return
    slower = " ".join(sentence(PairError(line)) for line in pair.fallbacks)
    said = _note(f"Loaded: {engine.pairs.words(key)}. {slower}".strip())
    yield _ready(said)._replace(chosen=key, which=gr.update(choices=choices(engine), value=public_key(key)))


def cancelled() -> Frame:
    return _ready(_note(CANCELLED))


def _tried_first(engine: Engine, name: PairName) -> Generator[str, None, Pair]:
    """Load a pair after a separate process has read its models without weights."""
    yield from trying(filter(None, name))
    return (yield from engine.pairs.load(*name))


def _loaded(steps: Generator[str, None, Pair], stop: Any) -> Generator[Frame, None, Pair | None]:
    """Go through the steps of loading; None if the visitor cancelled between two steps."""
    with closing(steps):
        while not stop():
            try:
                yield _busy(f"{next(steps).capitalize()} …")
            except StopIteration as end:
                pair: Pair = end.value
                return pair
    return None


def _name_of(engine: Engine, target: Any, draft: Any) -> PairName:
    """The names, if they may be loaded. Raises: PairError."""
    for role, name in (("target", target), ("draft", draft)):
        if not isinstance(name, str) or not name.strip():
            raise PairError(f"the {role} model has no name; give a folder or a hub id like owner/name")
        if len(name) > LONGEST_NAME:
            raise PairError(f"the name of the {role} model has {len(name)} characters; it may have {LONGEST_NAME}")
    return PairName(engine.allowed.require(target.strip()), engine.allowed.require(draft.strip()))


def _wanted(name: PairName) -> list[Wanted]:
    pickled = {model.id for preset in PRESETS for model in preset.models if model.pickled}
    return [wanted(model, model in pickled) for model in name if model is not None]


def _told(engine: Engine, models: list[Wanted]) -> str:
    """What the pair would take, in markup."""
    fetch_bytes = sum(model.fetch_bytes for model in models)
    words = [f"{in_gigabytes(fetch_bytes)} to fetch." if fetch_bytes else "Everything is on this machine already."]
    counts = [model.parameters for model in models]
    if all(counts):
        numbers = sum(count for count in counts if count)
        words.append(
            f"Weights in memory: {in_gigabytes(2 * numbers)} in bfloat16, {in_gigabytes(4 * numbers)} in float32."
        )
    words.append(f"Free on {engine.pair.device}: {in_gigabytes(free_bytes(engine.pair.device))}.")
    preset = _preset_of([model.name for model in models])
    return _note(" ".join([*words, *([_terms(preset)] if preset else [])]))


def _preset_of(names: list[str]) -> Preset | None:
    return next((one for one in PRESETS if [model.id for model in one.models] == names), None)


def _terms(preset: Preset) -> str:
    gated = "" if preset.gated == "no" else f" Gated: {preset.gated}."
    return f"Licence: {preset.licences}.{gated} Vocabulary: {preset.vocabulary}."


def _computed(preset: Preset) -> str:
    """What a known pair takes, computed without the hub."""
    sizes = [in_gigabytes(size) for size in (preset.download_bytes, preset.memory_bytes(2), preset.memory_bytes(4))]
    return f"Computed: about {sizes[0]} to fetch; weights in memory {sizes[1]} in bfloat16, {sizes[2]} in float32."


def _so_far(model: Wanted, size: int) -> str:
    done = min(size, model.fetch_bytes)
    return f"Fetching {model.name}: {in_gigabytes(done)} of {in_gigabytes(model.fetch_bytes)} …"


def _note(words: str) -> str:
    return f'<p role="status">{escape(words)}</p>'


def _busy(words: str) -> Frame:
    return Frame(said=_note(words), load=gr.update(visible=False), cancel=gr.update(visible=True))


def _ready(said: str) -> Frame:
    return Frame(said=said, load=gr.update(visible=False), cancel=gr.update(visible=False), fetched="")
