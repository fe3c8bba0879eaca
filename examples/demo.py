"""Fuzz the bundled naive agent, and see that its known bugs come out: `make demo`.

Prints the report of `fuzzmcp run examples/naive_agent.py:connect`, and exits with 0 when every expected script was
found.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

EXPECTED = {"spend_cap": "429cap", "retry_after": "429", "drift_caught": "drift(created>Created)"}
CHECKS = ("request_budget", "no_pointless_retry", "backoff", "unsafe_retry", "relists")


def main() -> int:
    """Run the search in a process of its own, and compare what it found with what is planted."""
    client = str(Path(__file__).with_name("naive_agent.py")) + ":connect"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "fuzzmcp", "run", client, "--time", "30s", "--seed", "1", "--no-save"]
        done = subprocess.run([*command, "--report", f"json={report}"], check=False)
        if done.returncode != 1:
            print(f"demo: expected findings, and exit code 1; got {done.returncode}", file=sys.stderr)
            return done.returncode or 3
        findings = json.loads(report.read_text("utf-8"))["findings"]
    found = {(finding["check"], finding["faults"]) for finding in findings}
    missing = [f"{check} with FAULTS={faults}" for check, faults in EXPECTED.items() if (check, faults) not in found]
    missing += [check for check in CHECKS if check not in {name for name, _ in found}]
    for what in missing:
        print(f"demo: not found: {what}", file=sys.stderr)
    if not missing:
        print(f"demo: all {len(EXPECTED) + len(CHECKS)} planted bugs were found")
    return 3 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
