"""Places in the client's code: the lines that a finding is about, and their names for a code host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from fuzzmcp.report.model import SavedFinding, Subject

_SITE = re.compile(r"(?P<path>.+?):(?P<line>\d{1,9})(?: (?P<function>.*))?", re.DOTALL)


@dataclass(frozen=True)
class CodePlace:
    """A line of code; `line` is 0 where only the file is known."""

    path: str
    line: int = 0
    function: str = ""

    @property
    def uri(self) -> str:
        """The file as a relative URI reference.

        >>> CodePlace("my agents/a:b.py").uri
        'my%20agents/a%3Ab.py'
        """
        return quote(self.path.replace("\\", "/").encode("utf-8", "replace"), safe="/")


def code_place_of(site: str | None) -> CodePlace | None:
    """The place that `Moment.site` names.

    >>> code_place_of("examples/naive_agent.py:48 ask")
    CodePlace(path='examples/naive_agent.py', line=48, function='ask')
    >>> code_place_of("somewhere")
    """
    found = _SITE.fullmatch(site or "")
    return CodePlace(found["path"], int(found["line"]), found["function"] or "") if found else None


def line_of_request(finding: SavedFinding) -> CodePlace | None:
    """The line that sent the violating request: the last request among the evidence, else the last request of all."""
    sent = [moment for moment in finding.requests if code_place_of(moment.site) is not None]
    shown = [moment for moment in sent if moment.evidence] or sent
    return code_place_of(shown[-1].site) if shown else None


def line_of_loop(finding: SavedFinding) -> CodePlace | None:
    """The line that came back to send that request again; None if no line did."""
    loops = [code_place_of(m.loop) for m in finding.requests if m.evidence and m.loop is not None]
    return loops[-1] if loops else None


def client_file(subject: Subject) -> CodePlace:
    """The file of the client, by its name: `agents/crm.py` for `agents/crm.py:connect` and `agents.crm:connect`."""
    file = subject.client.rpartition(":")[0] or subject.client
    return CodePlace(file if file.endswith(".py") else file.replace(".", "/") + ".py")
