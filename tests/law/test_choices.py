"""The random decisions of verification, from given uniforms."""

import numpy as np

from dsbd.law.choices import Uniforms


def test_uniforms_draw_by_inverse_cdf() -> None:
    """Catches an index of mass 0, an interval that does not hold its uniform or does not begin where the one before it
    ends, or an order other than the pairs'."""
    masses = np.array([0.0, 0.2, 0.0, 0.3, 0.5, 0.0])
    for uniform, expected in ((0.0, 1), (0.1999, 1), (0.2, 3), (0.49, 3), (0.5, 4), (1 - 2**-53, 4)):
        drawn = Uniforms([uniform]).draw(masses * 0.37)
        assert drawn.index == expected
        assert drawn.low <= drawn.uniform < drawn.high
    second = Uniforms([0.5]).draw(np.array([0.5, 0.25, 0.25]))
    assert (second.index, second.low, second.high) == (1, 0.5, 0.75)
    assert Uniforms([0.3]).accept(0.3) == (False, 0.3)
    assert Uniforms([0.0]).accept(0.0) == (False, 0.0)
