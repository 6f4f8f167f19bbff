"""llama.cpp's own grammar sampler, from the package of its server.

`make test-llama` installs it. The model is created on the fly, and only its vocabulary is used: one
token per byte, with the byte as its id, and special tokens.
"""

from __future__ import annotations

import ctypes
import importlib.util
import tempfile
from functools import cache
from pathlib import Path

from ..gateway.tiny_model import END, write_model
from .machines import CLOSING

TEMPLATE = Path(__file__).parents[1] / "templates" / "json_in_tags.jinja"


class Params(ctypes.Structure):
    """`llama_model_params`, or more. They are passed on unchanged."""

    _fields_ = (("data", ctypes.c_byte * 1024),)


class Datum(ctypes.Structure):
    """`llama_token_data`."""

    _fields_ = (("id", ctypes.c_int32), ("logit", ctypes.c_float), ("p", ctypes.c_float))


class Candidates(ctypes.Structure):
    """`llama_token_data_array`."""

    _fields_ = (
        ("data", ctypes.POINTER(Datum)),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    )


@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
def quiet(*_):
    """Discard the log."""


@cache
def llama():
    """Return the library and the vocabulary of a model, or None if not installed."""
    if not all(map(importlib.util.find_spec, ("xllamacpp", "gguf"))):
        return None
    import xllamacpp

    lib = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, result, *arguments in (
        ("llama_log_set", None, pointer, pointer),
        ("llama_model_default_params", Params),
        ("llama_model_load_from_file", pointer, text, Params),
        ("llama_model_get_vocab", pointer, pointer),
        ("llama_sampler_init_grammar", pointer, pointer, text, text),
        ("llama_sampler_apply", None, pointer, ctypes.POINTER(Candidates)),
        ("llama_sampler_accept", None, pointer, ctypes.c_int32),
        ("llama_sampler_clone", pointer, pointer),
        ("llama_sampler_free", None, pointer),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    lib.llama_log_set(ctypes.cast(quiet, pointer), None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tiny.gguf")
        write_model(path, TEMPLATE.read_text(encoding="utf-8"))
        model = lib.llama_model_load_from_file(bytes(path), lib.llama_model_default_params())
    assert model
    return lib, lib.llama_model_get_vocab(model)


class Llama:
    """The GBNF of a grammar in llama.cpp."""

    def __init__(self, text):
        self.lib, vocabulary = llama()
        self.start = self.lib.llama_sampler_init_grammar(vocabulary, text.encode(), b"root")
        assert self.start, text

    def __del__(self):
        if getattr(self, "start", None):
            self.lib.llama_sampler_free(self.start)

    def allowed(self, sampler, ids):
        """Return the tokens that may follow."""
        data = (Datum * len(ids))(*((id, 0.0, 0.0) for id in ids))
        found = Candidates(data, len(ids), -1, False)
        self.lib.llama_sampler_apply(sampler, ctypes.byref(found))
        return [one.id for one in data[: found.size] if one.logit == 0.0]

    def accepts(self, text):
        return self.accepts_ids(text.encode())

    def accepts_ids(self, ids):
        sampler = self.lib.llama_sampler_clone(self.start)
        try:
            for id in ids:
                if not self.allowed(sampler, [id]):
                    return False
                self.lib.llama_sampler_accept(sampler, id)
            return self.allowed(sampler, [END]) == [END]
        finally:
            self.lib.llama_sampler_free(sampler)

    def sampled(self, random, size=80):
        """Choose permitted bytes until the end, or return None if it takes too long."""
        sampler, data = self.lib.llama_sampler_clone(self.start), bytearray()
        try:
            while len(data) < 20 * size:
                allowed = self.allowed(sampler, [*range(256), END])
                late = {END, *CLOSING} if len(data) > size else ()
                byte = random.choice([id for id in allowed if id in late] or allowed)
                if byte == END:
                    return data.decode(errors="replace")  # it accepts invalid bytes as characters
                self.lib.llama_sampler_accept(sampler, byte)
                data.append(byte)
            return None
        finally:
            self.lib.llama_sampler_free(sampler)
