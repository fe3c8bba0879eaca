"""The script: parsing is total, spelling is unique, and equal behaviour is equal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzzmcp.core.drift import TYPES, Edit, canonical_json
from fuzzmcp.core.fault_row import Fault, Value
from fuzzmcp.core.faults import ANSWERS, BY_NAME, EXTRAS, ODD_RESULTS
from fuzzmcp.core.protocol import COUNT_MAX, METHODS, TEXT_MAX
from fuzzmcp.core.script import FOREVER, Action, Script, ScriptError, Step, action
from fuzzmcp.core.spelling import nearest
from fuzzmcp.strategies import scripts

SECONDS = st.one_of(
    st.sampled_from([0.0, 0.5, 1.0, 2.5, 4.999, 120.0, 1e-7, 1e9, 1e16 / 1e9]),
    st.floats(0, 1e9, allow_subnormal=False),
    st.integers(0, 10**9).map(float),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.one_of(st.sampled_from(["order_id", "0", "a-b", "$x", "a/b", "", 'q"', "-", "é"]), TEXTS)
LITERALS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=3,
).map(canonical_json)
ARGUMENTS = {
    "rename": NAMES,
    "retype": st.sampled_from(TYPES),
    "drop": st.just(""),
    "replace": LITERALS,
    "reformat": TEXTS.map(canonical_json),
    "add": LITERALS,
    "wrap": st.just(""),
}


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    op = draw(st.sampled_from(sorted(ARGUMENTS)))
    path = draw(st.lists(NAMES, min_size=1, max_size=3).map(tuple))
    return Edit(op, path, draw(ARGUMENTS[op]))  # type: ignore[arg-type]


def values_of(fault: Fault) -> st.SearchStrategy[Value]:
    kinds: dict[str, st.SearchStrategy[Value]] = {
        "seconds": SECONDS,
        "hint": st.one_of(st.none(), SECONDS),
        "text": TEXTS,
        "code": st.integers(-(2**31), 2**31),
        "status": st.integers(-(2**31), 2**31),
        "count": st.integers(1, 2**31),
        "tokens": st.integers(1, 2**31),
        "odd": st.sampled_from(ODD_RESULTS),
        "drift": st.one_of(st.none(), st.lists(edits(), min_size=1, max_size=3).map(tuple)),
    }
    return kinds[fault.takes.kind] if fault.takes else st.none()


@st.composite
def actions(draw: st.DrawFn, names: list[str]) -> Action:
    fault = BY_NAME[draw(st.sampled_from(names))]
    style = draw(st.sampled_from(["prose", "json"])) if fault.styled else "prose"
    whens = st.one_of(st.none(), SECONDS, *([st.just("cancel")] if fault.timing == "any" else []))
    return Action(fault.name, draw(values_of(fault)), style, draw(whens))  # type: ignore[arg-type]


@st.composite
def steps(draw: st.DrawFn, counts: st.SearchStrategy[int | None]) -> Step:
    method = draw(st.sampled_from(list(METHODS)))
    answer = draw(actions([name for name, fault in ANSWERS.items() if method in fault.methods]))
    beside = [name for name, fault in EXTRAS.items() if method in fault.methods]
    extras = draw(st.lists(actions(beside), max_size=2).map(tuple))
    return Step(answer, extras, method, draw(counts))


COUNTS = st.one_of(st.integers(1, 5), st.sampled_from([COUNT_MAX - 1, COUNT_MAX]), st.none())
BUILT = st.lists(steps(COUNTS), max_size=4).map(tuple).map(Script)
FINITE = st.lists(steps(st.integers(1, 4)), max_size=5)
WORDS = [*BY_NAME, "late", *METHODS, "cancel", "none", "style", "json"]
MARKS = [*'()[]{}"\\,;:=+-*@><~^/. \n\x00', "0", "9", "1e9", "1e400", "9" * 5000, "\ud800", "é", "²", "٣"]


@given(BUILT)
def test_a_script_built_by_hand_reads_back(script: Script) -> None:
    again = Script.parse(str(script))
    assert again == script
    assert str(again) == str(script)
    assert hash(again) == hash(script)


@given(scripts())
def test_a_drawn_script_reads_back(script: Script) -> None:
    assert Script.parse(str(script)) == script


def read(text: str) -> Script | ScriptError:
    """What `parse` makes of a text: nothing but a script or a well-formed error may come out."""
    try:
        script = Script.parse(text)
    except ScriptError as caught:
        error = caught
    else:
        assert Script.parse(str(script)) == script
        return script
    assert error.text == text
    assert 0 <= error.position <= len(text)
    assert f"character {error.position + 1}" in str(error)
    assert error.suggestion is None or error.suggestion in {*WORDS, *ODD_RESULTS, "prose"}
    return error


@given(st.text())
@example("\ud800")
@example('error("\ud800")')
@example('error("\\ud800")')
@example('drift("\\ud800">x)')
@example("hang\x00")
@example("hang*" + "9" * 5000)
@example("429(" + "9" * 5000 + ")")
@example("rpc(" + "9" * 5000 + ")")
@example("drift(a=" + "9" * 5000 + ")")
@example("drift(a=" + "[" * 20_000 + ")")
@example("drift(a=" + "[" * 20_000 + "]" * 20_000 + ")")
@example("error(" + "[" * 20_000 + ")")
@example("(" * 50_000)
@example("hang," * 20_000)
@example("hang" * TEXT_MAX)
@example("ok@1e400")
@example("ok@nan")
@example("429(-1)")
@example("drift(a=NaN)")
@example("drift(a=1e400)")
def test_any_text_is_a_script_or_a_script_error(text: str) -> None:
    read(text)


@given(st.lists(st.sampled_from([*WORDS, *MARKS]), max_size=20).map("".join))
def test_any_text_in_the_alphabet_of_the_grammar_is_a_script_or_a_script_error(text: str) -> None:
    read(text)


@given(st.data(), BUILT)
def test_a_mutated_script_is_a_script_or_a_script_error(data: st.DataObject, script: Script) -> None:
    text = str(script)
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = min(len(text), begin + data.draw(st.integers(0, 3)))
        text = text[:begin] + data.draw(st.sampled_from(["", *MARKS, *WORDS])) + text[end:]
    read(text)


@given(st.sampled_from(sorted(BY_NAME)), st.integers(0, 20), st.sampled_from("abcxyz_4"))
def test_the_suggestion_for_a_misspelt_fault_is_the_nearest_name(name: str, place: int, char: str) -> None:
    place = min(place, len(name))
    typo = name[:place] + char + name[place:]
    if typo in BY_NAME:
        return
    error = read(f"ok, {typo}")
    assert isinstance(error, ScriptError)
    assert error.position == 4
    assert error.suggestion == nearest(typo, [*BY_NAME, "late"])


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("hnag", 0, "did you mean 'hang'"),
        ("ok,,hang", 3, "expected a fault"),
        ("lst:hang", 0, "did you mean 'list'"),
        ("list:toolgone", 5, "cannot answer 'list:'"),
        ("hang+429", 5, "'429' is an answer"),
        ("hang@2", 5, "takes no '@'"),
        ("rpc", 0, "needs a value"),
        ("rpc()", 0, "needs a value"),
        ("ok(1)", 3, "takes no such argument"),
        ("429(2,3)", 6, "takes no such argument"),
        ("429(style=jsn)", 4, "did you mean 'json'"),
        ("drift(style=json)", 6, "'drift' has no style"),
        ("odd(unicde)", 4, "did you mean 'unicode'"),
        ("error(oops)", 6, "double quotes"),
        ('error("oops)', 5, "never closed"),
        ("drift(a:text)", 8, "unknown type"),
        ("drift(a)", 7, "expected one of > : = ~"),
        ("hang*0", 5, "repeat count"),
        ("hang*10001", 5, "repeat count"),
        ("hang*,429", 6, "never reached"),
        ("late@2", 4, "neither arguments"),
        ("hang+cancel@cancel", 12, "takes seconds"),
        ("hang hang", 5, "expected ','"),
        ("429(2000000000)", 4, "more than"),
        ("progress(0)", 9, "out of range"),
    ],
)
def test_an_error_says_where_and_what(text: str, position: int, words: str) -> None:
    with pytest.raises(ScriptError) as caught:
        Script.parse(text)
    assert words in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "shortest"),
    [
        ("", "ok"),
        ("  \n", "ok"),
        ("ok*,list:ok", "ok"),
        ("429,429*", "429*"),
        ("429*2,429*3", "429*5"),
        ("hang,ok,ok*7", "hang"),
        ("ok,hang", "ok,hang"),
        ("429,list:hang,init:hang", "init:hang,list:hang,429"),
        ("ok@cancel", "late"),
        ("ok@cancel+dup", "late+dup"),
        ("ok+dup", "dup"),
        ("ok@2+dup", "ok@2+dup"),
        ("error@0", "error"),
        ("ping@0", "ping"),
        ("dup@0", "dup@0"),
        ("429(2)", "429"),
        ("429(2.0,style=prose)", "429"),
        ("429( none , style=json )", "429(none,style=json)"),
        ("odd(many_blocks)+progress(1)", "odd+progress"),
        ("huge(40000)", "huge"),
        ("block(1e2)", "block(100)"),
        ('drift("order_id">orderId;total:string)', "drift(order_id>orderId;total:string)"),
        ("drift()", "drift"),
        ("hang*10000,hang*2", "hang*10000,hang*2"),
        ("hang*2,hang*10000", "hang*10000,hang*2"),
    ],
)
def test_equal_behaviour_has_one_spelling(text: str, shortest: str) -> None:
    assert str(Script.parse(text)) == shortest
    assert Script.parse(text) == Script.parse(shortest)


@settings(max_examples=50)
@given(FINITE, st.sampled_from(sorted(METHODS)), st.integers(0, 30))
def test_repeats_written_out_answer_every_request_alike(drawn: list[Step], method: str, index: int) -> None:
    merged = Script(tuple(drawn))
    single = [replace(step, count=1) for step in drawn for _ in range(step.count or 0)]
    asked = [step for step in single if step.method == method]
    place, step = merged.step_for(method, index)
    expected = asked[index] if index < len(asked) else Step(method=method)
    assert replace(step, count=1) == expected
    assert place is not None or step.plain
    assert Script(tuple(single)) == merged
    assert Script(merged.unrolled()) == merged


FEW = st.lists(
    st.builds(
        Step,
        st.sampled_from([Action("ok"), action("429"), Action("hang"), Action("ok", at="cancel")]),
        st.sampled_from([(), (Action("dup"),), (Action("ping", at=0.0),), (Action("ping"),)]),
        st.sampled_from(["call", "list"]),
        st.sampled_from([1, 2, 3, None]),
    ).filter(lambda step: step.method in step.answer.fault.methods),
    max_size=4,
)


def behaviour(steps: list[Step]) -> list[list[Step]]:
    """What each of the first twenty requests of each method is answered with, worked out the slow way."""
    answers = []
    for method in ("list", "call"):
        asked = [step for step in steps if step.method == method]
        endless = next((i for i, step in enumerate(asked) if step.count is FOREVER), len(asked))
        reached = [replace(step, count=1) for step in asked[: endless + 1] for _ in range(step.count or 20)]
        answers.append([*reached, *[Step(method=method)] * 20][:20])
    return answers


@settings(max_examples=200)
@given(FEW, FEW)
def test_scripts_are_equal_when_and_only_when_they_answer_alike(one: list[Step], other: list[Step]) -> None:
    assert (Script(tuple(one)) == Script(tuple(other))) == (behaviour(one) == behaviour(other))


def test_a_place_past_the_end_is_none_and_plain() -> None:
    assert Script.parse("hang").step_for("call", 1) == (None, Step())
    assert Script.parse("hang*").step_for("call", 10**9)[0] == 0


def test_an_endless_script_is_unrolled_to_the_limit() -> None:
    assert len(Script.parse("hang,429*").unrolled(limit=5)) == 2
    assert len(Script.parse("hang*9").unrolled(limit=5)) == 5


def test_an_unknown_action_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="unknown fault 'hnag'"):
        action("hnag")


def test_a_hang_built_with_a_moment_has_none() -> None:
    assert Step(Action("hang", at=3.0)) == Step(Action("hang"))


@pytest.mark.parametrize(("answer", "extras"), [("dup", ()), ("ok", ("429",)), ("hang", ("log", "hang"))])
def test_a_step_takes_answers_and_extras_in_their_places_only(answer: str, extras: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="is an"):
        Step(action(answer), tuple(map(action, extras)))
