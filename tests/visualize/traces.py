"""Traces on which tests compare Python with the viewer's JavaScript, and the scenes of some."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

from dsbd.tracing.trace import Trace
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from visualize import build_scene
from visualize.scenes.records import Scene

FOLDER = Path(__file__).parents[2] / "assets" / "traces"


class Traces(Mapping[str, Trace]):
    """Traces by name. Each is loaded when it is first asked for: most tests need only the names."""

    def __init__(self, loads: Mapping[str, Callable[[], Trace]]) -> None:
        self.loads = loads

    def __getitem__(self, name: str) -> Trace:
        return self.loads[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.loads)

    def __len__(self) -> int:
        return len(self.loads)


RECORDED = Traces(
    {
        **{path.name: cache(partial(Trace.load, path)) for path in sorted(FOLDER.glob("*.json*"))},
        **{name: partial(toy_trace, name) for name in ("likely", "joint", "tree", "distinct-tree", "block")},
    }
)
TRACES = Traces(
    {
        **{name: partial(toy_trace, name) for name in ("toy", "wider", "narrow", "plain", "blocks", "ruled", "chance")},
        "nasty": nasty_trace,
        **RECORDED.loads,
    }
)


@cache
def scene_of(name: str, language: str = "en") -> Scene:
    """Build the scene of a trace, once for all tests."""
    return build_scene(TRACES[name], language=language)
