"""The command that a report prints says the whole case: read by the command line, it is the same case."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from commands import invoke
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fuzzmcp.api import case_of, run, violations
from fuzzmcp.cli.job import job_of
from fuzzmcp.cli.replay import _told_apart, replay
from fuzzmcp.core.case import Case, CaseError, output_of, output_text
from fuzzmcp.core.catalogue.tools import crm, load
from fuzzmcp.core.protocol import TRANSPORTS, VERSIONS
from fuzzmcp.examples import naive_agent
from fuzzmcp.report.build import Subject, replay_of, violated
from fuzzmcp.strategies import cases, outputs

CLIENT = "fuzzmcp.examples.naive_agent:connect"
OWN = [
    {
        "name": "odd name-1",
        "inputSchema": {"type": "object", "properties": {"a b": {"type": "string"}}, "required": ["a b"]},
        "outputSchema": {"type": "object", "properties": {"Größe": {"type": ["number", "null"]}}},
    },
    {"name": "--plain", "inputSchema": {"type": "object"}},
]
ANY_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without a configuration."""
    monkeypatch.chdir(tmp_path)
    Path("own.json").write_text(json.dumps(OWN))
    return tmp_path


def read_again(words: tuple[str, ...]) -> Case:
    """The case that `fuzzmcp replay` makes of a command, once a shell has read it."""
    typed = shlex.split(shlex.join(words))
    assert typed == list(words)
    assert typed[:2] == ["fuzzmcp", "replay"]
    with replay.make_context("replay", typed[2:]) as context:
        options = dict(context.params)
        client, (script,) = _told_apart(options.pop("words"), context)
        return job_of(client, script, options).case


@st.composite
def any_case(draw: Any, tools: Any) -> Case:
    """Any drawn case, with results of its own as often as without."""
    case: Case = draw(
        cases(
            tools,
            protocol=draw(st.sampled_from(VERSIONS)),
            transport=draw(st.sampled_from(TRANSPORTS)),
            backend=draw(st.sampled_from(["asyncio", "trio"])),
        )
    )
    with_results = [tool for tool in tools if tool.output_schema is not None]
    chosen = draw(st.lists(st.sampled_from(with_results), unique_by=lambda tool: tool.name, max_size=2))
    return replace(case, outputs={**case.outputs, **{tool.name: draw(outputs(tool)) for tool in chosen}})


@ANY_FOLDER
@given(any_case(crm()))
@example(case_of("list_changed"))
def test_the_printed_command_is_the_same_case(case: Case) -> None:
    again = read_again(replay_of(Subject(CLIENT), case))
    assert {each.name: getattr(again, each.name) for each in fields(Case)} == vars(case)


@ANY_FOLDER
@given(any_case(load(OWN)))
def test_with_a_catalogue_of_a_file_it_is_the_same_case_too(case: Case) -> None:
    assert read_again(replay_of(Subject(CLIENT, options=("--tools", "own.json")), case)) == case


def test_a_finding_that_needs_its_outputs_is_shown_again_by_its_command() -> None:
    odd = {"order_id": "A1", "status": "shipped", "total": 1.5, "created": "2026-10-05"}
    case = replace(case_of("429cap"), outputs={"get_order": odd})
    happened = run(naive_agent.connect, case)
    finding, *_ = violated(Subject(CLIENT), happened, violations(happened))
    assert "--output" in finding.replay
    shown = invoke(*finding.replay[1:])
    assert shown.exit_code == 1
    assert '"status": "shipped"' in shown.stdout
    assert f"again {finding.command}\n" in shown.stdout


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text(min_size=1), st.dictionaries(st.text(), JSON, max_size=3))
def test_an_output_is_read_as_it_is_printed(tool: str, value: Any) -> None:
    assert output_of(output_text(tool, value)) == (tool, value)


@given(st.text(st.sampled_from('a="{}[]:,1 \\'), max_size=20))
def test_any_text_is_an_output_or_one_error(text: str) -> None:
    try:
        tool, value = output_of(text)
    except CaseError:
        return
    assert output_of(output_text(tool, value)) == (tool, value)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("get_order", "'get_order', character 10: expected '='"),
        ("get_order=", "character 11: expected a JSON value"),
        ("get_order=3", "character 11: expected a JSON object"),
        ("get_order={} {}", "character 14: expected nothing behind the JSON object"),
        ("get_ordr={}", "--output: unknown tool 'get_ordr'; did you mean 'get_order'?"),
    ],
)
def test_an_output_that_cannot_be_used_is_told(output: str, told: str) -> None:
    result = invoke("replay", CLIENT, "429", "--output", output)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_saved_case_says_its_outputs_itself(empty_folder: Path) -> None:
    (empty_folder / "a.toml").write_text('version = 1\ncheck = "spend_cap"\nfaults = "429cap"\n')
    result = invoke("replay", CLIENT, "a.toml", "--output", "get_order={}")
    assert result.exit_code == 2
    assert "--output: a saved case says that itself" in result.stderr
