from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.api import case_of
from fuzzmcp.core.case_codec import key
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.script import Script
from fuzzmcp.search.minimize import StopSearch, _simpler, complexity, minimize, with_script
from fuzzmcp.strategies import cases

ORDER = 'get_order(order_id="A1")'
OTHER = 'get_order(order_id="A7")@0'


def names(case):
    return [action.name for step in case.script.unrolled(9) for action in step.actions]


def actions(case):
    return [action for step in case.script.steps for action in step.actions]


def smallest(script, violates, **options):
    return minimize(case_of(script, **options), violates)


@given(cases(), cases())
def test_any_two_cases_can_be_compared(one, other):
    assert (complexity(one) < complexity(other)) + (complexity(other) < complexity(one)) <= 1


@settings(max_examples=20, deadline=None)
@given(cases(max_calls=2, max_steps=2), st.sampled_from(["hang", "429", "dup", "drift", "ok"]))
def test_what_comes_out_still_violates_and_is_no_more_complex(case, wanted):
    def violates(other):
        return wanted in names(other)

    if violates(case):
        found, done = minimize(case, violates)
        assert done
        assert violates(found)
        assert complexity(found) <= complexity(case)
        assert minimize(found, violates) == (found, True)


@settings(max_examples=30, deadline=None)
@given(cases(max_calls=2, max_steps=3, vocabulary=["hang", "429", "dup", "list_changed"]))
def test_a_hang_anywhere_ends_in_one_hang_on_one_call(case):
    if "hang" in names(case) and any(s.answer.name == "hang" for s in case.script.of("call")):
        found, _ = minimize(case, lambda other: any(s.answer.name == "hang" for s in other.script.of("call")))
        assert str(found.script) == "hang"
        assert [str(call) for call in found.calls] == [ORDER]


def test_a_step_that_does_not_matter_is_deleted():
    found, _ = smallest("504,529,hang,429(5)", lambda case: "hang" in names(case))
    assert str(found.script) == "hang"


def test_a_kind_that_does_not_matter_becomes_the_simplest():
    def fails(case):
        return len(names(case)) >= 4 and set(names(case)).isdisjoint({"ok", "odd"})

    found, _ = smallest("toolgone*6", fails)
    assert str(found.script) == "error*4"


def test_an_endless_repeat_becomes_as_short_as_it_can_be():
    found, _ = smallest("error*", lambda case: names(case).count("error") >= 5)
    assert str(found.script) == "error*5"


def test_values_moments_and_styles_go_back_to_their_defaults():
    found, _ = smallest("429(77.5,style=json)@12.25+dup@40", lambda case: "429" in names(case))
    assert str(found.script) == "429"


def test_a_delay_becomes_the_smallest_that_still_does_it():
    def late(case):
        return any(a.name == "ok" and isinstance(a.at, float) and a.at > 25 for a in actions(case))

    found, _ = smallest("ok@733.25", late)
    assert str(found.script) == "ok@30"


def test_drift_ends_in_one_edit_the_first_that_does_it():
    def drifts_the_total(case):
        edits = [edit for a in actions(case) if isinstance(a.value, tuple) for edit in a.value]
        return any(edit.path[0] == "total" for edit in edits)

    found, _ = smallest("drift(-status;total:string;created=null)", drifts_the_total)
    assert str(found.script) == "drift(total>Total)"


def test_calls_that_do_not_matter_are_deleted_and_arguments_become_the_sample():
    found, _ = smallest(
        "hang", lambda case: "hang" in names(case), calls=['refund_order(order_id="Z",amount=3)', OTHER]
    )
    assert [str(call) for call in found.calls] == [ORDER]


def test_two_calls_at_once_stay_at_once_only_where_it_matters():
    calls = [ORDER, OTHER]
    in_turn, _ = smallest("hang", lambda case: len(case.calls) == 2, calls=calls)
    assert all(call.at is None for call in in_turn.calls)

    def two_of_them_at_once(case):
        return len(case.calls) == 2 and sum(call.at == 0 for call in case.calls) == 1

    at_once, _ = smallest("hang", two_of_them_at_once, calls=calls)
    assert sum(call.at == 0 for call in at_once.calls) == 1


def test_a_spent_budget_ends_the_pass_with_what_it_has():
    left = iter(range(3))

    def violates(case):
        if next(left, None) is None:
            raise StopSearch
        return "hang" in names(case)

    found, done = smallest("504,529,hang,429(5)", violates)
    assert not done
    assert "hang" in names(found)


def test_nothing_inapplicable_is_ever_tried():
    tried = []

    def violates(case):
        tried.append(case)
        return any(s.method == "init" for s in case.script.steps)

    smallest("init:rpc(-32603)@7,list:badtool", violates)
    assert tried
    assert all(not case.inapplicable for case in tried)


def test_the_second_catalogue_comes_and_goes_with_list_changed():
    case = case_of("hang")
    announced = with_script(case, Script.parse("list_changed"))
    assert announced.changed is not None
    assert announced.changed != crm()
    assert with_script(announced, Script.parse("hang")).changed is None


def test_two_cases_are_spelled_alike_only_when_they_run_alike():
    case = case_of("hang", calls=[ORDER])
    assert key(case) == key(case_of("hang", calls=[ORDER]))
    others = [
        replace(case, schedule=1, backend="trio"),
        case_of("hang", calls=[OTHER]),
        case_of("hang", protocol="2025-06-18"),
        replace(case, outputs={"get_order": {"order_id": "A1"}}),
    ]
    assert len({key(case), *map(key, others)}) == 5


def test_an_extra_is_never_replaced_by_an_answer() -> None:
    """It would be spelled like the answer itself, and yet do nothing."""
    for variant in _simpler(case_of("ok+ping,429+dup@3")):
        for step in variant.script.steps:
            assert all(extra.fault.role == "extra" for extra in step.extras), str(variant.script)
