"""Token text as a reader sees it."""

import pytest

from visualize.scenes.tokens import flowing, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [(" cat", "␣cat"), ("a\nb\t", "a⏎b⇥"), ("\x00", "⟨U+0000⟩"), ("\r", "⟨U+000D⟩"), ("\u202e", "⟨U+202E⟩"),
     ("\u200b", "⟨U+200B⟩"), ("שלום", "שלום"), ("👨\u200d👩", "👨\u200d👩"), ("\ufffd", "\ufffd"),
     ("</script>", "</script>"), ("\ud800", "⟨U+D800⟩")],
)  # fmt: skip
def test_what_would_not_print_is_marked(text, seen):
    assert visible(text) == seen
    assert flowing("a b\n\tc\x07") == "a b⏎\n⇥\tc⟨U+0007⟩"  # running text keeps spaces and marks line ends
