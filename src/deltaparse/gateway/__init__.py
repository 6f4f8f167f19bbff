"""A gateway: OpenAI's and Anthropic's APIs in front of a server of raw completions.

Needs the packages of the extra `serve`: starlette, uvicorn and httpx.
"""

from .discovery import Found, discover
from .gateway import Gateway, upstream_client
from .model import Model
from .settings import Settings

__all__ = ["Found", "Gateway", "Model", "Settings", "discover", "upstream_client"]
