"""Runs one version of a pair in its environment: the pair's own script, then a search a seed, each in a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from installing import Done

from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND
from fuzzmcp.core.protocol import DEFAULT_VERSION
from fuzzmcp.report import load
from history.pairs import Pair
from history.results import Half, Search, spelled

CLIENTS = Path(__file__).with_name("clients")
SECONDS = 600
"""Real seconds after which a search is stopped: ten times what a pair may take."""
_VERSIONS = (
    "import json, sys; from importlib.metadata import version; "
    "print(json.dumps([f'{name} {version(name)}' for name in sys.argv[1:]]))"
)
Run = Callable[[Sequence[str]], Done]


def run(command: Sequence[str]) -> Done:
    """Run a command to its end, without what would change how the client behaves, and with nobody told of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FUZZMCP", "MAKE"))}
    quiet = {"DO_NOT_TRACK": "1", "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=SECONDS, env={**kept, **quiet},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Done(1, f"not done after {SECONDS:,} s")
    return Done(done.returncode, done.stdout)


def drive(pair: Pair, python: Path, seeds: Iterable[int], run: Run = run) -> Half:
    """What the version that is installed there does.

    Args:
        pair: What to look for.
        python: The interpreter of its environment.
        seeds: One search each.
        run: Runs a command.
    """
    place, _, attribute = pair.client.partition(":")
    client = f"{CLIENTS / place}.py:{attribute}"
    protocol = [] if pair.protocol == DEFAULT_VERSION else ["--protocol", pair.protocol]
    asked = ["--check", pair.check, *protocol]
    calls = [word for call in pair.calls for word in ("--call", call)]
    replayed = _verdict(run([str(python), "-m", "fuzzmcp", "replay", client, pair.script, *calls, *asked]))
    if replayed not in ("violated", "held", "not exercised"):
        return Half(failure=replayed)
    searches = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "report.json"
            budget = ["--runs", str(pair.runs), "--seed", str(seed), "--no-save", "--report", f"json={file}"]
            done = run([str(python), "-m", "fuzzmcp", "run", client, *asked, *budget])
            if done.code not in (NOTHING_FOUND, FOUND) or not file.is_file():
                return Half(replayed, tuple(searches), failure=f"seed {seed}: {_last(done)}")
            searches.append(_search(load.load(file), pair.check))
    names = [re.split(r"[^\w.-]", need)[0] for need in pair.requirements("")]
    versions = run([str(python), "-c", _VERSIONS, *dict.fromkeys((pair.package, "mcp", *names))])
    return Half(replayed, tuple(searches), tuple(json.loads(versions.output)) if versions.code == 0 else ())


def _verdict(done: Done) -> str:
    """What a replay that asked one check said, or why it said nothing."""
    if done.code == FOUND:
        return "violated"
    held = re.search(r"(\d+) checks? held", done.output)
    if done.code != NOTHING_FOUND or held is None:
        return _last(done)
    return "held" if held[1] == "1" else "not exercised"


def _last(done: Done) -> str:
    lines = [line.strip() for line in done.output.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("fuzzmcp:")]
    return f"{(told or lines or ['it said nothing'])[-1][:300]} (exit code {done.code})"


def _search(report: load.Report, check: str) -> Search:
    findings = tuple(spelled(found.faults, found.calls) for found in report.findings if found.check == check)
    return Search(report.seed, report.runs, round(report.seconds, 1), report.exposed.get(check), findings)
