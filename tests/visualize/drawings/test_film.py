"""The film of a decode: its pictures, its size, and texts that are hard to write."""

from dataclasses import replace

import pytest
from PIL import Image

import visualize
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from visualize.drawings import film, lettering
from visualize.look.theme import palette

PASSES = len(toy_trace().iterations)


def pictures(path):
    """Return each picture of a film with its milliseconds."""
    with Image.open(path) as found:
        for at in range(found.n_frames):
            found.seek(at)
            yield found.convert("RGB"), found.info["duration"]


@pytest.fixture
def no_fonts(monkeypatch):
    """A machine without fonts: only that of Pillow is left."""
    caches = lettering.written, lettering._fonts, lettering._has
    monkeypatch.setattr(lettering, "FONTS", ())
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_pass_has_three_pictures_and_the_text_an_end(tmp_path, theme):
    visualize.export_gif(toy_trace(), tmp_path / "film.gif", theme=theme)
    found = list(pictures(tmp_path / "film.gif"))
    assert len(found) == 3 * PASSES + 1
    assert {picture.size for picture, _ in found} == {(1200, 675)}
    paper = palette(theme).paper
    assert all("#" + bytes(picture.getpixel((1, 1))).hex() == paper for picture, _ in found)
    assert found[-1][1] == 4000
    assert sum(milliseconds for _, milliseconds in found[:-1]) <= 45_000


def test_it_begins_where_it_is_asked_to_and_ends_with_the_text():
    scene = visualize.scene(toy_trace())
    shots = list(film.shots_of(scene, PASSES - 2))
    assert [shot.caption.partition(" ·")[0] for shot in shots[::3]] == ["Pass 6", "Pass 7", shots[-1].caption]
    assert shots[-1].text.endswith(scene.result[0].text)
    assert shots[3].text == shots[2].text
    guessed, decided, stayed = ({node.state for node in shot.forest.nodes} for shot in shots[:3])
    assert guessed <= {"input", "drafted", "cover"}
    assert decided == stayed > {"accepted"}
    said, told, known = shots[1].text, shots[2].text, shots[2].known  # another beam may be the best now
    assert said[:known] == told[:known]
    assert said[known : known + 1] != told[known : known + 1]


def test_a_long_decode_is_cut_and_an_empty_one_is_one_picture(monkeypatch, tmp_path):
    monkeypatch.setattr(film, "MOST_PASSES", 2)
    empty = replace(toy_trace(), iterations=[], result=None)
    for trace, count in ((toy_trace(), 6), (toy_trace("plain"), 4), (empty, 1)):
        visualize.export_gif(trace, tmp_path / "film.gif")
        assert len(list(pictures(tmp_path / "film.gif"))) == count


@pytest.mark.usefixtures("no_fonts")
def test_hostile_texts_are_drawn_without_any_font_of_the_system(tmp_path):
    visualize.export_gif(nasty_trace(), tmp_path / "film.gif")
    assert len(list(pictures(tmp_path / "film.gif"))) == 3 * PASSES + 1
    assert lettering.written("a \u4f60\U0001f98a", 20)[0] == r"a \u4f60\U0001f98a"


def test_lines_hold_the_whole_text_and_none_is_too_long():
    for text in ("", " ", "one two  three " * 30, "word" * 200, "a\n\nb\n", "\u6f22" * 300, f"x {'y' * 500} z"):
        lines = list(film._lines(text, 25))
        rest = text
        for start, line in lines:
            assert text[start : start + len(line)] == line
            written, font = lettering.written(line, 50)
            assert font.getlength(written) <= 2 * (1200 - 64)
            rest = rest.replace(line, "", 1)
        assert not rest.strip()
