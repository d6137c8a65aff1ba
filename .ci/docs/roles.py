"""Turns the cross-references of docstrings, such as ``:func:`dsbd.stream```, into links of the site."""

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":(?:func|class|data|attr|meth|mod|exc):`~?([\w.]+)`")
PUBLIC = ("dsbd.", "visualize.")


class Roles(Extension):
    """Replaces every role of every docstring before the pages are written."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda role: _link(role[1], obj), obj.docstring.value)


def _link(name: str, obj: Object) -> str:
    """Return a link if the name stands on a page, else plain code."""
    full = name if name.startswith(PUBLIC) else f"{obj.path.split('.')[0]}.{name}"
    return f'<autoref identifier="{full}" optional><code>{name.rsplit(".", 1)[-1]}</code></autoref>'
