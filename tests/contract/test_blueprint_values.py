"""Whatever a value holds, it comes back as itself from the made text, and nothing outside its spans changes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siteward.core.contract.blueprint import Own, instantiate, read_blueprint
from siteward.core.contract.blueprint_selectors import as_value
from siteward.core.contract.document import Value
from siteward.core.contract.notes import Notes
from siteward.core.contract.places import read_tree
from siteward.core.contract.tree import plain

HEAD = "blueprint:\n  name: B\n  domain: workflow\n  input: { a: , b: , c: , unused: { default: 1 } }\n"
CONTEXTS = (
    "  - log: !input {}\n",
    "  - log: !input {}   # kept: !input a\n",
    "  - log: !input '{}'\n",
    '  - { "log":!input {} }\n',
    "  - { log: !input {}, name: 'it''s !input a' }\n",
    "  - webhook: { to: t, body: [!input {}, x, [ !input a ], { k: !input b }] }\n",
    "  - webhook:\n      body:\n        - !input {}\n        - - !input a\n          # kept: {{plate}} between\n          - last\n",
    "  - webhook:\n      body: !input {}\n      to: t\n\n\n",
    "  -   webhook: # kept\n        body:\n          !input {}\n",
    "  - webhook: { body: !<!input> {} }\n",
    "  - webhook: {\n      body: !input\n        {} ,\n to: t }\n",
    "  - log: |\n      !input a is only text here\n      # and this\n",
)
HOSTILE = (
    "", " ", "~", "null", "true", "false", "Yes", "on", "22:00", "010", "1_000", "0x10", "1e3", ".5", "-", "- a", "a: b", "a:", ": a", "#", " # c",
    "a #b", "!input a", "!!python/object:x", "&a", "*a", "<<", "%TAG", "---", "...", "{", "}", "{{", "{plate}", "{a", "[", "]", "[a", ",", "?", "? a",
    "|", ">", "'", '"', "''", '\\"', "\\", "\\n", "\n", "a\nb", "\na", "a\n", "\r\n", "\t", "\tx", "a\tb", "\x00", "\x07", "\x1b[0m", "\x7f", "\x85",
    "\u2028", "\u2029", "\ufeff", "\ufffe", "\u200b", "é", "日本", "🚪", "\U0010ffff", "@a", "`a", "=", "a, b", "role:guard", "http://x/y?z#w",
    "\n- gate.open: { gate: main }\n", '"\n  then: []\n', "x }\n  - gate.open: { gate: main_gate } #", "]]}}", "k" * 5000, "a b " * 400,
)  # fmt: skip

texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(texts.filter(lambda key: len(key) <= 200), inner, max_size=4)
    ),
    max_leaves=8,
)
bodies = st.lists(st.tuples(st.sampled_from(CONTEXTS), st.sampled_from("abc")), min_size=1, max_size=6)


def written(body: list[tuple[str, str]]) -> str:
    return "name: N\nthen:\n" + "".join(
        context.replace("{}", name).replace("{{", "{").replace("}}", "}") for context, name in body
    )


def same(one: Value, other: Value) -> bool:
    """Equal, and of equal types everywhere (1, 1.0 and true are three values; so are 0.0 and -0.0)."""
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and sorted(one) == sorted(other)
            and all(same(one[key], other[key]) for key in one)
        )
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def tree_of(text: str, inputs: Mapping[str, Value] | None = None) -> Value:
    notes = Notes()
    tree = read_tree(text, notes, resolve=None if inputs is None else inputs.__getitem__).tree
    assert tree is not None and notes.count == 0, notes.sorted()
    return plain(tree)


def literal_pieces(text: str) -> list[str]:
    """The body around its inputs, found by the reader's own spans."""
    blueprint = read_blueprint(HEAD + text).blueprint
    assert blueprint is not None
    cuts = sorted((use.start - len(HEAD), use.end - len(HEAD)) for use in blueprint.uses)
    ends = [0, *(end for _, end in cuts)]
    starts = [*(start for start, _ in cuts), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


@settings(max_examples=60, deadline=None)
@given(bodies, st.fixed_dictionaries({"a": values, "b": values, "c": values}))
def test_the_made_text_is_the_body_with_the_values_and_nothing_else(
    body: list[tuple[str, str]], inputs: dict[str, object]
) -> None:
    text = written(body)
    made = instantiate(HEAD + text, inputs)
    assert made.problems == () and made.text is not None
    expected = tree_of(text, {name: as_value(value) for name, value in inputs.items()})
    assert same(tree_of(made.text), expected)
    assert "\n".join(made.text.splitlines()[:2]) == "name: N\nthen:"
    left = made.text
    for piece in literal_pieces(text):
        assert piece in left
        left = left[left.index(piece) + len(piece) :]
    assert made.text.count("kept") >= text.count("kept")


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("context", CONTEXTS[:-1])
def test_a_hostile_text_stays_one_text(context: str, value: str) -> None:
    text = written([(context, "c")])
    made = instantiate(HEAD + text, {"a": "A", "b": "B", "c": value})
    assert made.text is not None
    assert same(tree_of(made.text), tree_of(text, {"a": "A", "b": "B", "c": value}))
    pieces = literal_pieces(text)
    assert made.text.startswith(pieces[0]) and made.text.endswith(pieces[-1])


@pytest.mark.parametrize(
    "body",
    [
        "name: N\nthen: []\n",
        "then: []\n",
        "name:\nthen: []\n",
        "name: >-\n  a\n  b\nthen: []\n",
        "then: []\nname: N",
        "name: 'N' # c\nthen: []\n",
        'then: []\nname: "a\n  b"\n',
    ],
)
def test_an_instances_own_words_are_texts_whatever_they_hold(body: str) -> None:
    for text in filter(None, HOSTILE):
        made = instantiate("blueprint: { name: B, domain: workflow }\n" + body, {}, own=Own(text, text))
        assert made.text is not None
        assert same(tree_of(made.text), as_value({**_mapping(body), "name": text, "description": text})), made.text


def _mapping(body: str) -> dict[str, Value]:
    read = tree_of(body)
    assert isinstance(read, Mapping)
    return dict(read)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=200), st.binary(max_size=200)))
def test_nothing_that_is_read_as_a_blueprint_raises(rubbish: str | bytes) -> None:
    read_blueprint(rubbish)
    prefix = b"blueprint:\n  name: B\n  domain: workflow\n  input:\n" if isinstance(rubbish, bytes) else HEAD
    instantiate(prefix + rubbish, {"a": 1, "b": 2, "c": 3})  # type: ignore[operator]  # the same type by the line above


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_mutation_of_a_blueprint_raises(data: st.DataObject) -> None:
    text = HEAD + written([(context, "a") for context in CONTEXTS])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 12)))
        put = data.draw(
            st.one_of(st.sampled_from(HOSTILE[:75]), st.sampled_from(["!input a", "&x ", "*x", "\n", "  ", ": ", "- "]))
        )
        text = text[:at] + put + text[end:]
    made = instantiate(text, {"a": "x", "b": {"k": ["v"]}, "c": 3})
    assert (made.text is None) == any(one.severity == "error" for one in made.problems)
