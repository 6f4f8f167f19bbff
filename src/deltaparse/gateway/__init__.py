"""A gateway: OpenAI's and Anthropic's APIs in front of a server of raw completions.

Needs the packages of the extra `serve`: starlette and uvicorn.
"""

from .discovery import Found, discover
from .gateway import Gateway
from .model import Model
from .records import Records
from .settings import Settings
from .upstreams.http_client import HttpClient

__all__ = ["Found", "Gateway", "HttpClient", "Model", "Records", "Settings", "discover"]
