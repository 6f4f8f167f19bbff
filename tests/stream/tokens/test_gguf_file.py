"""Reading and skipping metadata of GGUF files, and truncated files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaparse import UsageError
from deltaparse.stream.tokens.gguf_file import is_gguf, read_gguf

from ...strategies.gguf_files import gguf

ENDS = {kind: (0, 2**bits - 1) for kind, bits in ((0, 8), (2, 16), (4, 32), (10, 64))}
ENDS |= {kind: (-(2**bits), 2**bits - 1) for kind, bits in ((1, 7), (3, 15), (5, 31), (11, 63))}
ENDS |= {6: (-0.5, 2.0**127), 7: (False, True), 12: (-1e-300, 1e300)}
"""A small and a large number of each numeric type."""


def arrays(values):
    """Return a strategy of arrays with items of one type, from pairs of type and value."""
    return values.flatmap(
        lambda one: st.integers(0, 3).map(lambda count: (9, (one[0], [one[1]] * count)))
    )


flat = st.one_of(
    *(st.tuples(st.just(kind), st.integers(*ENDS[kind])) for kind in (4, 5, 10)),
    st.tuples(st.just(8), st.binary(max_size=5)),
)
values = st.one_of(
    flat, arrays(flat), arrays(arrays(flat)), arrays(arrays(arrays(flat))),
    arrays(arrays(arrays(arrays(flat)))),
)  # fmt: skip


def plain(kind, value):
    """Return a value as the reader returns it."""
    return [plain(value[0], one) for one in value[1]] if kind == 9 else value


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("gguf") / "model.gguf"


def written(path, given, order, version):
    fields = [(f"key {at}", *one) for at, one in enumerate(given)]
    data = gguf(fields, order, version).removesuffix(b"weights")
    path.write_bytes(data)
    return data, {name: plain(kind, value) for name, kind, value in fields}


@given(
    st.lists(values, max_size=4), st.sets(st.integers(0, 3)),
    st.sampled_from("<>"), st.sampled_from([2, 3]),
)  # fmt: skip
def test_only_the_requested_keys_are_read(path, given, asked, order, version):
    _, expected = written(path, given, order, version)
    keys = {f"key {at}" for at in asked}
    found = read_gguf(path, keys)
    assert found == {key: value for key, value in expected.items() if key in keys}


@pytest.mark.parametrize("kind", ENDS)
def test_numbers_of_every_type_are_read(path, kind):
    given = [*((kind, number) for number in ENDS[kind]), (9, (kind, [*ENDS[kind]])), (4, 7)]
    _, expected = written(path, given, "<", 3)
    assert read_gguf(path, expected) == expected
    assert read_gguf(path, ["key 3"]) == {"key 3": 7}


@given(st.lists(values, min_size=1, max_size=2), st.booleans(), st.sampled_from("<>"), st.data())
def test_truncated_file_is_refused(path, given, asked, order, data):
    whole, expected = written(path, given, order, 3)
    for cut in {len(whole) - 1, data.draw(st.integers(0, len(whole) - 1))}:
        path.write_bytes(whole[:cut])
        why = f"its metadata ends at byte {cut}" if cut >= len(b"GGUF") else "not a GGUF"
        with pytest.raises(UsageError, match=rf"model\.gguf: .*{why}"):
            read_gguf(path, expected if asked else ())


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize(
    "last", [(4, 7), (8, "ab"), (9, (4, [1, 2])), (9, (8, ["a", "b"])), (9, (9, [(4, [1])]))]
)
def test_file_truncated_within_its_last_value_is_refused(path, last, asked):
    whole, expected = written(path, [last], "<", 3)
    for cut in range(len(b"GGUF"), len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(UsageError, match=f"its metadata ends at byte {cut}"):
            read_gguf(path, expected if asked else ())


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("depth", [5, 5000])
def test_nested_arrays_are_read_up_to_a_depth(path, depth, asked):
    nested = (4, [7])
    for _ in range(3):
        nested = (9, [nested])
    _, expected = written(path, [(9, nested)], "<", 3)
    assert read_gguf(path, expected) == expected
    head = gguf([("key 0", 9, (9, []))]).removesuffix(b"weights")[:-8]
    one = (1).to_bytes(8, "little")
    path.write_bytes(head + (one + b"\x09\0\0\0") * (depth - 2) + one + b"\x04\0\0\0" + one)
    with pytest.raises(UsageError, match="not a GGUF file: 9"):
        read_gguf(path, expected if asked else ())


@pytest.mark.parametrize("name", ["model.gguf", "MODEL.GGUF"])
def test_file_is_recognized_by_its_suffix(tmp_path, name):
    assert is_gguf(tmp_path / name)
    assert not is_gguf(tmp_path / "model.bin")
    with pytest.raises(UsageError, match=f"{name}: No such file"):
        read_gguf(tmp_path / name, ())


@pytest.mark.parametrize("version", [0, 1])
def test_old_version_is_refused(path, version):
    path.write_bytes(gguf([], version=version))
    with pytest.raises(UsageError, match=f"version {version}"):
        read_gguf(path, ())


@pytest.mark.parametrize("length", [2**62, 2**63, 2**64 - 1])
@pytest.mark.parametrize("asked", [(), ("some.texts",)])
def test_length_beyond_the_file_is_refused(path, length, asked):
    whole = gguf([("some.texts", 9, (8, ["a", "b"])), ("next", 4, 1)])
    for text in (b"a", b"b"):
        path.write_bytes(whole.replace(b"\1\0\0\0\0\0\0\0" + text, length.to_bytes(8, "little")))
        with pytest.raises(UsageError, match="truncated GGUF file"):
            read_gguf(path, asked)
