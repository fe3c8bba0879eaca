"""The table of the adapters in `fuzzmcp.clients`, and what is wrong where one of them cannot be used.

Like the clients of users, the adapters stand above everything else; what the floors below have to know of them is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fuzzmcp.core.errors import ToolNotOffered
from fuzzmcp.core.spelling import meant

_PACKAGE = "fuzzmcp.clients"


@dataclass(frozen=True)
class Adapter:
    """One client of `fuzzmcp.clients`.

    Args:
        module: Module in that package, which has the client as `connect`.
        framework: What its users call it.
        requires: What pip has to install, beside the SDK.
        sdk: The versions of `mcp` that it lives with.
    """

    module: str
    framework: str
    requires: tuple[str, ...] = ()
    sdk: str = ">=1.24,<3"

    @property
    def client(self) -> str:
        """What the command line calls it."""
        return f"{_PACKAGE}.{self.module}:connect"

    @property
    def command(self) -> str:
        """What installs what it needs."""
        return "pip install " + " ".join(f"'{package}'" for package in (*self.requires, f"mcp{self.sdk}"))


ADAPTERS = (
    Adapter("sdk_session", "MCP Python SDK, ClientSession"),
    Adapter("sdk_client", "MCP Python SDK, Client", sdk=">=2,<3"),
    Adapter("fastmcp", "FastMCP", ("fastmcp>=3",)),
    Adapter("langchain", "LangChain MCP adapters", ("langchain-mcp-adapters>=0.3",), sdk="<2"),
    Adapter("pydantic_ai", "Pydantic AI, MCPToolset", ("pydantic-ai-slim[mcp]>=2",)),
    Adapter("pydantic_ai_agent", "Pydantic AI, Agent", ("pydantic-ai-slim[mcp]>=2",)),
    Adapter("openai_agents", "OpenAI Agents SDK, MCP server", ("openai-agents>=0.24",)),
    Adapter("openai_agents_tool", "OpenAI Agents SDK, function tool", ("openai-agents>=0.24",)),
    Adapter("google_adk", "Google ADK", ("google-adk>=2.13",)),
    Adapter("llama_index", "LlamaIndex MCP tools", ("llama-index-tools-mcp>=0.6",), sdk=">=2,<3"),
    Adapter("agno", "Agno", ("agno[mcp]>=3",), sdk=">=2.1,<3"),
    Adapter("autogen", "AutoGen, MCP tool", ("autogen-ext[mcp]>=0.7",), sdk="<2"),
    Adapter("autogen_workbench", "AutoGen, MCP workbench", ("autogen-ext[mcp]>=0.7",), sdk="<2"),
    Adapter("dspy", "DSPy", ("dspy>=3",)),
    Adapter("mcp_use", "mcp-use", ("mcp-use>=1.7",), sdk="<2"),
    Adapter("strands", "Strands Agents", ("strands-agents>=1.60",)),
    Adapter("smolagents", "smolagents with mcpadapt", ("smolagents>=1.26", "mcpadapt>=0.1.19"), sdk="<2"),
    Adapter("haystack", "Haystack MCP tool", ("mcp-haystack>=2",)),
)
"""Every adapter, in the order of the table that `make clients` writes."""


def offered(tools: Mapping[str, Any], name: str) -> Any:
    """The tool of that name among those that a framework offers its agent.

    Raises:
        ToolNotOffered: There is none: its list failed, or holds only part of the catalogue.
    """
    if name not in tools:
        raise ToolNotOffered(f"{name} is not among the {len(tools)} tools that the framework found")
    return tools[name]


def why_missing(module: str, error: ImportError) -> str | None:
    """What is wrong where `fuzzmcp.clients.MODULE` cannot be imported, None where only its own traceback can tell.

    Args:
        module: The full name of the module.
        error: What its import raised.
    """
    package, _, name = module.rpartition(".")
    if package != _PACKAGE:
        return None
    adapter = next((row for row in ADAPTERS if row.module == name), None)
    if adapter is None:
        return f"there is no adapter '{name}'" + meant(name, (row.module for row in ADAPTERS))
    sdk = _installed("mcp")
    if not fits(sdk, adapter.sdk):
        return f"{adapter.framework}: needs mcp{adapter.sdk}, found {sdk}; {adapter.command}"
    if isinstance(error, ModuleNotFoundError) and not (error.name or "fuzzmcp").startswith("fuzzmcp"):
        return f"{adapter.framework}: not installed ({error}); {adapter.command}"
    return None


def _installed(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def fits(number: str, bounds: str) -> bool:
    """Whether a version lies within bounds like `>=1.24,<3`, by the rules that pip goes by; `none` lies in none.

    A pre-release comes before its release: `2.0.0rc1` is no longer below 2, and not yet 2.

    >>> fits("2.3.0", ">=2,<3"), fits("2.4.0rc1", ">=2,<3"), fits("2.0.0rc1", ">=2"), fits("2.0.0rc1", "<2")
    (True, True, False, False)
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(bounds).contains(Version(number), prereleases=True)
    except InvalidVersion:
        return False
