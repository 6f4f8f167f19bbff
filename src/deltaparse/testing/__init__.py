"""Hypothesis strategies for turns, and checks of formats and templates.

    from hypothesis import given
    from deltaparse.testing import check_invariants, outputs

    @given(outputs(fmt, tools, faults=True))
    def test_any_output(text):
        check_invariants(fmt, text, tools)

Requires the extra `testing`.
"""

try:
    import hypothesis  # noqa: F401
except ImportError as error:
    raise ImportError(
        "deltaparse.testing requires hypothesis: pip install 'deltaparse[testing]'"
    ) from error

from .cuts import chunkings
from .drawn_messages import messages
from .grammar_samples import Sampler, texts_of
from .invariants import check_invariants
from .model_outputs import outputs
from .templates import check_template

__all__ = [
    "Sampler",
    "check_invariants",
    "check_template",
    "chunkings",
    "messages",
    "outputs",
    "texts_of",
]
