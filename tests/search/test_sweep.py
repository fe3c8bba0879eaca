from itertools import islice

import pytest

from fuzzmcp.api import case_of
from fuzzmcp.core.case_codec import key
from fuzzmcp.core.drift import candidates
from fuzzmcp.core.faults import FAULTS, why_inapplicable
from fuzzmcp.core.protocol import VERSIONS
from fuzzmcp.search.sweep import sweep, workloads

MOMENTS = (25.0,)


def singles(protocol):
    """The cases with one faulty step, before the pairs."""
    base = case_of(protocol=protocol)
    begun = islice(sweep(base, MOMENTS), 1_150)
    return [case for case in begun if len([step for step in case.script.unrolled(1) if not step.plain]) == 1]


@pytest.mark.parametrize("protocol", VERSIONS)
def test_every_fault_that_applies_is_tried_alone_and_none_that_does_not(protocol):
    found = singles(protocol)
    tried = {(step.method, action.name) for case in found for step in case.script.steps for action in step.actions}
    opening = "init" if protocol != "2026-07-28" else "discover"
    wanted = {
        (method, fault.name)
        for fault in FAULTS
        for method in ("call", "list", opening)
        if fault.name != "ok" and why_inapplicable(fault.name, method, protocol) is None
    }
    assert tried >= wanted
    assert not any(case.inapplicable for case in found)


def test_each_fault_meets_one_call_two_in_turn_and_two_at_once():
    shapes = {
        (len(case.calls), sum(call.at is not None for call in case.calls))
        for case in singles("2025-11-25")
        if str(case.script) == "429cap"
    }
    assert {(1, 0), (2, 0), (2, 2)} <= shapes


def test_each_fault_meets_the_first_and_the_second_request():
    scripts = {str(case.script) for case in singles("2025-11-25")}
    assert {"hang", "ok,hang", "hang*", "list:hang", "list:ok,list:hang"} <= scripts


def test_every_single_edit_of_every_tool_is_tried():
    scripts = {str(case.script) for case in singles("2025-11-25")}
    for tool in case_of().tools:
        for edit in candidates(tool.sample_output, tool.formats):
            assert f"drift({edit})" in scripts


def test_delays_stand_just_before_at_and_after_the_moment_the_client_gives_up():
    scripts = {str(case.script) for case in singles("2025-11-25")}
    assert {"ok@24", "ok@25", "ok@26"} <= scripts


def test_the_sweep_is_the_same_every_time():
    base = case_of()
    first, second = (list(map(key, islice(sweep(base, MOMENTS), 1500))) for _ in range(2))
    assert first == second


def test_one_workload_calls_a_tool_that_must_not_run_twice():
    loads = workloads(case_of())
    assert any(not load.tool(call.tool).repeatable for load in loads for call in load.calls)


def test_two_calls_of_one_tool_ask_for_different_things():
    two = next(load for load in workloads(case_of()) if len(load.calls) == 2)
    assert two.calls[0].tool == two.calls[1].tool
    assert two.calls[0].arguments != two.calls[1].arguments


def test_over_stdio_the_faults_of_bytes_are_tried_too_and_over_memory_never():
    names = {"badutf8", "split", "exit"}
    tried = {}
    for transport in ("memory", "stdio"):
        found = islice(sweep(case_of(transport=transport), MOMENTS), 1_150)
        scripts = {str(case.script) for case in found}
        tried[transport] = {name for name in names if any(name in script for script in scripts)}
    assert tried == {"memory": set(), "stdio": names}
    assert "hang+badutf8" in scripts
