"""What goes wrong in fuzzmcp, by name: everything that a user can see of it is a `FuzzmcpError`.

    FuzzmcpError                       exit code 2: what was given cannot be used
    ├── BadValue (ValueError)          a value of an option, of the configuration or of a marker
    ├── ScriptError (ValueError)       a script
    ├── DriftError (ValueError)        the drift in a script
    ├── CaseError (ValueError)         a case
    ├── CaseFileError (ValueError)     a saved case
    ├── ToolsError (ValueError)        a catalogue
    ├── BackingServerError             a server object that is to stand behind the fake
    ├── ConfigError (ValueError)       the configuration
    ├── TomlError (ValueError)         a file of TOML
    ├── DatabaseError (ValueError)     an example database
    ├── ReportError (ValueError)       the file of a report
    ├── ToolNotOffered (LookupError)   a tool that the framework under test does not offer to its agent
    │                                  exit code 3: what was given cannot be run
    ├── TargetError                    it cannot be loaded, or is no client
    ├── CannotRun                      it fails without any fault
    ├── NoVirtualTime (RuntimeError)   it asks an upstream outside of any run
    ├── BudgetSpent (RuntimeError)     it sends requests for ever
    ├── ListingError                   a real server whose tools cannot be listed
    ├── CanaryMissed                   a search that does not find a bug that was planted
    └── OwnFault                       exit code 3: fuzzmcp itself failed
        ├── HarnessError (RuntimeError)  in a run
        └── SeamError (RuntimeError)     with an SDK that it does not know

A broken promise is none of these: `CheckFailed` is an `AssertionError`. Each class stands beside what raises it; here
are the base, and those that many raise.
"""

from __future__ import annotations

BAD_USAGE, CANNOT_RUN = 2, 3
"""Exit codes of the command line."""


class FuzzmcpError(Exception):
    """Anything that goes wrong in fuzzmcp and is no finding about the client."""

    exit_code: int = BAD_USAGE
    """What the command line exits with."""


class OwnFault(FuzzmcpError):
    """fuzzmcp itself failed, or does not know what it found installed: never the client's fault."""

    exit_code = CANNOT_RUN


class ToolNotOffered(FuzzmcpError, LookupError):
    """A framework offers its agent no such tool, though the server has it."""


class BadValue(FuzzmcpError, ValueError):
    """A value that cannot be used, whoever gave it: an option, the configuration, a marker.

    Attributes:
        key: The setting, by the name that the configuration has for it.
        message: What is wrong with the value.
        place: Where the configuration says it; None for a value that was given otherwise.
        cause: The user's own exception behind it, if there is one.
    """

    def __init__(self, key: str, message: str, place: str | None = None, cause: BaseException | None = None) -> None:
        super().__init__(f"{place or key}: {message}")
        self.key, self.message, self.place, self.cause = key, message, place, cause


class ScriptError(FuzzmcpError, ValueError):
    """A script that cannot be read.

    Attributes:
        text: What was read.
        position: Where reading stopped, in characters from the start.
        suggestion: The nearest known word, or None.
    """

    def __init__(self, message: str, text: str, position: int, suggestion: str | None = None) -> None:
        hint = f"; did you mean '{suggestion}'?" if suggestion else ""
        super().__init__(f"script, character {position + 1}: {message}{hint}")
        self.text, self.position, self.suggestion = text, position, suggestion
