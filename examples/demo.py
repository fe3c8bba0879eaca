"""Fuzz the bundled naive agent, and tell on one screen what broke: `make demo`.

The whole report is kept in `.fuzzmcp/`, as JSON and as a page. The exit code is 0 when every planted bug was found.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

RUNS = 1000
"""Enough for every planted bug, with room to spare; counted, so that any machine finds the same."""
PLANTED = {
    "spend_cap": "429cap",
    "retry_after": "429",
    "drift_caught": "drift(created>Created)",
    "request_budget": None,
    "no_pointless_retry": None,
    "backoff": None,
    "unsafe_retry": None,
    "relists": None,
}
"""The checks that the agent breaks, and the shortest script where there is only one."""
KEPT = Path(".fuzzmcp")
ROWS = 13
"""Findings that the first screen has room for."""


def main() -> int:
    """Run the search in a process of its own, tell what it found, and compare that with what is planted."""
    agent = nearby(Path(__file__).with_name("naive_agent.py"))
    KEPT.mkdir(exist_ok=True)
    saved, page = KEPT / "demo.json", KEPT / "demo.html"
    print(f"Searching for server faults that break {agent}: a few seconds", flush=True)
    words = ["run", f"{agent}:connect", "--runs", str(RUNS), "--seed", "1", "--no-save"]
    words += ["--report", f"json={saved}", "--report", f"html={page}"]
    done = subprocess.run([sys.executable, "-m", "fuzzmcp", *words], check=False, stdout=subprocess.DEVNULL)
    if done.returncode != 1:
        print(f"demo: expected findings, and exit code 1; got {done.returncode}", file=sys.stderr)
        return done.returncode or 3
    report = json.loads(saved.read_text("utf-8"))
    print("\n".join(summary(report, saved, page, shutil.get_terminal_size((110, 24)).columns)))
    absent = missing(report["findings"])
    for what in absent:
        print(f"demo: not found: {what}", file=sys.stderr)
    return 3 if absent else 0


def summary(report: dict[str, Any], saved: Path, page: Path, width: int) -> list[str]:
    """The lines of the first screen: what broke, and where to read on."""
    findings = report["findings"]
    planted = f"{len(PLANTED) - len(missing(findings))} of {len(PLANTED)} planted bugs"
    program = nearby(Path(sys.executable).with_name("fuzzmcp"))
    shown = next((finding for finding in findings if finding["check"] == "spend_cap"), findings[0])
    return [
        "",
        f"{len(findings)} findings in {report['runs']:,} runs; {planted} are among them.",
        "Each line: a check that failed, the shortest script of faults, what happened.",
        "",
        *rows(findings, width),
        "",
        f"one of them   {shown['replay'].replace('fuzzmcp', program, 1)}",
        f"all of them   {program} report {saved}",
        f"as a page     {page}",
        'your client   README.md, "How to write a target"',
    ]


def rows(findings: list[dict[str, Any]], width: int) -> list[str]:
    """One line for each finding, cut where the screen ends: the check, the script, and what happened."""
    names = max(len(finding["check"]) for finding in findings)
    scripts = max(len(finding["faults"]) for finding in findings)
    lines = [f"{each['check']:{names}}  {each['faults']:{scripts}}  {each['message']}" for each in findings[:ROWS]]
    if len(findings) > ROWS:
        lines.append(f"and {len(findings) - ROWS} more")
    return [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def missing(findings: list[dict[str, Any]]) -> list[str]:
    """The planted bugs that were not found."""
    found = {(finding["check"], script) for finding in findings for script in (None, finding["faults"])}
    return [f"{check} with FAULTS={script or '…'}" for check, script in PLANTED.items() if (check, script) not in found]


def nearby(path: Path) -> str:
    """The path as one would type it here."""
    near = os.path.relpath(path)
    return str(path) if near.startswith(os.pardir) else near


if __name__ == "__main__":
    sys.exit(main())
