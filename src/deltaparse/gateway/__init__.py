"""OpenAI- and Anthropic-compatible chat APIs for a raw-completion server.

Requires the packages of the extra `serve`: starlette and uvicorn.
"""

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .discovery import Found, discover
    from .gateway import Gateway
    from .model import Model
    from .settings import Settings
    from .turn_log import Records
    from .upstreams.http_client import HttpClient
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            ".discovery": "Found discover",
            ".gateway": "Gateway",
            ".model": "Model",
            ".turn_log": "Records",
            ".settings": "Settings",
            ".upstreams.http_client": "HttpClient",
        },
    )

__all__ = ["Found", "Gateway", "HttpClient", "Model", "Records", "Settings", "discover"]
