"""The servers' own code without a GPU: downloaded as wheels and imported with stubs.

    python tools/servers/peers.py            download the `VERSIONS` into build/peers

Only files used by Python are kept. `install` replaces the other imports of the parsers and the chat
serving (PyTorch, kernels, the engine) by stubs.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import subprocess
import sys
import tarfile
import types
import zipfile
from pathlib import Path
from typing import ClassVar

VERSIONS = {"vllm": "0.33.0", "sglang": "0.5.23"}
"""The supported versions of the plugins."""

KEPT = Path(__file__).parents[2] / "build" / "peers"

STUBS = frozenset(
    [
        "IPython",
        "PIL",
        "aiohttp",
        "anthropic",
        "av",
        "blake3",
        "cachetools",
        "cloudpickle",
        "compressed_tensors",
        "cpuinfo",
        "cupy",
        "cv2",
        "decord",
        "depyf",
        "diskcache",
        "einops",
        "flashinfer",
        "gguf",
        "ijson",
        "imagehash",
        "lark",
        "librosa",
        "lm_format_enforcer",
        "mcp",
        "model_hosting_container_standards",
        "numba",
        "opentelemetry",
        "outlines_core",
        "pandas",
        "prometheus_client",
        "prometheus_fastapi_instrumentator",
        "psutil",
        "py_cpuinfo",
        "quack",
        "ray",
        "scipy",
        "setproctitle",
        "soundfile",
        "soxr",
        "tilelang",
        "torch",
        "torchaudio",
        "torchvision",
        "triton",
        "uvloop",
        "watchfiles",
        "zmq",
        "dill",
        "sglang.kernels",
        "sglang.srt.layers",
        "sglang.srt.managers",
        "sglang.srt.model_executor",
        "sglang.srt.models",
        "sglang.srt.parser.conversation",
        "sglang.srt.runtime_context",
        "sglang.srt.sampling",
        "sglang.srt.server_args",
        "sglang.srt.utils",
        "vllm.config",
        "vllm.connections",
        "vllm.distributed",
        "vllm.engine",
        "vllm.entrypoints.mcp",
        "vllm.inputs",
        "vllm.lora",
        "vllm.model_executor",
        "vllm.multimodal",
        "vllm.platforms",
        "vllm.renderers.base",
        "vllm.transformers_utils",
        "vllm.utils.torch_utils",
        "vllm.v1",
    ]
)
"""Modules replaced by stubs, including their submodules."""


def is_kept(name: str, version: str) -> bool:
    """Return True if a peer was downloaded."""
    return (KEPT / f"{name}-{version}").exists()


def fetch(name: str, version: str) -> Path:
    """Return the folder of a peer's Python files, and download it if necessary."""
    folder = KEPT / f"{name}-{version}"
    if not is_kept(name, version):
        wheels = KEPT / "wheels"
        wheels.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest"]
        subprocess.run([*command, str(wheels), f"{name}=={version}"], check=True)
        (wheel,) = wheels.glob(f"{name}-{version}-*.whl")
        with zipfile.ZipFile(wheel) as packed:
            kept = [one for one in packed.namelist() if one.endswith((".py", ".json", "METADATA"))]
            packed.extractall(folder, kept)  # noqa: S202 - a zip
        wheel.unlink()
    return folder


def source() -> Path:
    """Return the folder of vLLM's tests, and download it if necessary."""
    folder = KEPT / "vllm-source" / "tests"
    if not folder.exists():
        version = VERSIONS["vllm"]
        kept = KEPT / "sources"
        kept.mkdir(parents=True, exist_ok=True)
        # Only the source is needed. Building its metadata may fail, and is ignored.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "vllm"]
        command += ["--no-build-isolation", "--no-clean", "--dest", str(kept), f"vllm=={version}"]
        environment = {"TMPDIR": str(kept), "PATH": "/usr/bin:/bin"}
        subprocess.run(command, check=False, capture_output=True, env=environment)
        for packed in kept.glob("vllm-*.tar.gz"):
            with tarfile.open(packed) as archive:
                archive.extractall(kept, filter="data")
        found = sorted(kept.glob("**/tests/tool_parsers"))
        if not found:
            raise SystemExit("cannot download vLLM's source distribution")
        folder.parent.mkdir(exist_ok=True)
        found[0].parent.rename(folder)
    return folder


def install(names: tuple[str, ...] = tuple(VERSIONS)) -> None:
    """Make the peers importable in this process, from the folders of `fetch`."""
    sys.meta_path.insert(0, _Finder())
    for name in names:
        package = types.ModuleType(name)
        package.__path__ = [str(fetch(name, VERSIONS[name]) / name)]
        package.__version__ = VERSIONS[name]  # type: ignore[attr-defined]
        # The package's own `__init__` would start the engine.
        sys.modules[name] = package


class _Meta(type):
    """The class of stubs: each attribute, call and item of a stub is a stub too."""

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *args: object, **named: object) -> object:
        # A decorator returns its argument.
        return args[0] if len(args) == 1 and callable(args[0]) and not named else cls

    def __or__(cls, other: object) -> object:
        return cls

    __ror__ = __getitem__ = __or__

    def __iter__(cls) -> object:
        return iter(())

    def __enter__(cls) -> object:
        return cls

    def __exit__(cls, *error: object) -> None:
        pass

    def __bool__(cls) -> bool:
        return False

    def __index__(cls) -> int:
        return 0

    def __lt__(cls, other: object) -> bool:
        return False

    __gt__ = __lt__

    def __ge__(cls, other: object) -> bool:
        return True


class _Module(types.ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> object:
        if name == "__version__":
            return "2.9.0"
        if name.startswith("__"):
            raise AttributeError(name)
        # A mixin must not have a metaclass.
        made = type(name, (), {}) if name.endswith("Mixin") else _Meta(name, (), {})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        parts = name.split(".")
        above = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        if above & STUBS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


if __name__ == "__main__":
    for name, version in VERSIONS.items():
        print(fetch(name, version))
    print(source())
