"""Run the examples as described in `examples/README.md`, each in a clean environment.

    python tools/loops/run.py [NAME ...]     all, or only files with a NAME in their names

For each list of packages in the tables, a virtual environment (or a folder with node_modules) is
created in build/loops, with the wheel of this checkout. The example then runs in an empty folder.
Engines use random models. vLLM, SGLang and endpoints have no GPU here, so a script replaces their
engines, but their own classes run (`stand_ins.py`).
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples"
BUILD = ROOT / "build" / "loops"
SHOWN = runpy.run_path(str(HERE / "shown.py"))
SCRIPTS = runpy.run_path(str(ROOT / "tests" / "examples" / "stand_ins.py"))
ROW = re.compile(r"^\| ([^|]+) \| `([\w.]+)` \| (\d+) \| (.*) \|$", re.MULTILINE)
ANSWERS = {  # the number of responses printed by a client, and how many of them have reasoning
    "ai_sdk_client.mjs": (3, 3),
    "langchain_client.py": (3, 2),
    "litellm_client.py": (2, 2),
    "openai_client.mjs": (2, 2),
    "pydantic_ai_client.py": (2, 2),
}
TORCH = ("torch", "transformers", "xgrammar")
SHORT = 12
"""A token limit that truncates a call."""


@dataclass(frozen=True)
class Example:
    """A row of the tables."""

    path: Path
    lines: int
    takes: str
    packages: tuple[str, ...]


def examples() -> Iterator[Example]:
    """Yield the rows of the README, in its order."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0].lower()
        folder = EXAMPLES if title == "loops" else EXAMPLES / title
        for _, name, lines, rest in ROW.findall(section):
            cells = [cell.strip().strip("`") for cell in rest.split("|")]
            takes, packages = cells[:2] if title == "engines" else ("", cells[0])
            yield Example(folder / name, int(lines), takes, tuple(packages.split()))


class Failed(Exception):
    """A command failed. The message has its output."""


def run(command: list[str | Path], folder: Path) -> str:
    """Run a command, and return its output.

    Raises:
        Failed: the command failed.
    """
    # Only packages are downloaded, no models and no price tables.
    offline = {"HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    environment = os.environ | {"PYTHONUTF8": "1"} | offline
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"[-3_000:]
        raise Failed(f"{' '.join(map(str, command))}: status {done.returncode}\n{said}")
    return done.stdout


def python_with(packages: tuple[str, ...], name: str = "") -> Path:
    """Return the interpreter of a new environment with the wheel and these packages."""
    names = [name] if name else [re.sub(r"[^\w-].*", "", one) for one in packages]
    folder = BUILD / "-".join(["venv", *names])
    python = folder / "bin" / "python"
    if folder not in made:
        made.add(folder)
        run([sys.executable, "-m", "venv", "--clear", folder], BUILD)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*install, "--upgrade", "pip"], BUILD)
        held = ["--constraint", HERE / "constraints.txt"]
        run([*install, *held, *packages, *BUILD.glob("dist/*.whl")], BUILD)
    return python


made: set[Path] = set()


@contextmanager
def started(command: list[str | Path]) -> Iterator[str]:
    """Run a server with its port as the last argument. Yield its address after it listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (BUILD / "server.log").open("w")
    with subprocess.Popen([*map(str, command), str(port)], stdout=log, stderr=log) as server:
        try:
            for _ in range(600):
                with socket.socket() as asking:
                    if asking.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()
            log.close()


def empty(name: str) -> Path:
    """Return a new folder for an example."""
    folder = BUILD / "run" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def tiny(name: str, packages: tuple[str, ...]) -> Path:
    """Return a random model, created by its example."""
    path = BUILD / name
    if path not in made:
        made.add(path)
        run([python_with(packages), EXAMPLES / "engines" / f"{name}.py", path], BUILD)
    return path


@contextmanager
def given(example: Example) -> Iterator[list[str | Path]]:
    """Yield the arguments of an engine's example."""
    if example.takes == "URL":
        python = python_with(("gguf", "xllamacpp"))
        model = tiny("tiny_gguf", ("gguf", "xllamacpp"))
        with started([python, HERE / "llama_server.py", model]) as url:
            yield [url]
    elif example.takes == "URL MODEL":
        with SCRIPTS["serving"](SCRIPTS["completions"]) as (url, _):
            yield [url, tiny("tiny_model", TORCH)]
    elif "llama-cpp-python" in example.packages:
        yield [tiny("tiny_gguf", ("gguf", "xllamacpp"))]
    else:
        yield [tiny("tiny_model", TORCH)]


def engine(example: Example, folder: Path) -> str:
    """Run an engine's example, complete and truncated, and return a description of any error."""
    if set(example.packages) & {"vllm", "sglang"}:
        requirements = ROOT / "tools" / "servers" / "requirements.txt"
        packages = ("--requirement", str(requirements), "msgspec")
        python = python_with(packages, "servers")
        run([python, HERE / "stand_ins.py", example.path], folder)
        return ""
    python = python_with(example.packages)
    with given(example) as arguments:
        for limit in ((), (SHORT,)):
            printed = run([python, example.path, *arguments, *map(str, limit)], folder)
            if wrong := SHOWN["engine"](printed, cut=bool(limit)):
                return f"{wrong}\n{printed}"
        source = example.path.read_text(encoding="utf-8")
        if "(skip_special_tokens" in source or "skip_special_tokens=False)" in source:
            dropped = folder / "dropped.py"
            dropped.write_text(
                source.replace("skip_special_tokens=False", "skip_special_tokens=True")
            )
            if not SHOWN["engine"](run([python, dropped, *arguments], folder), cut=False):
                return "also passes without special tokens"
    return ""


def client(example: Example, folder: Path) -> str:
    """Run a client's example against the example server. Return a description of any error."""
    if example.path.name == "server.py":
        return ""  # all other clients run it
    answers, reasoning = ANSWERS.get(example.path.name, (1, 1))
    with started([python_with(()), EXAMPLES / "clients" / "server.py"]) as url:
        if example.path.suffix == ".mjs":
            shutil.copy(example.path, folder)
            run(["npm", "install", "--silent", "--no-audit", *example.packages], folder)
            command: list[str | Path] = ["node", example.path.name]
        else:
            command = [python_with(example.packages), example.path]
        printed = run([*command, url], folder)
    wrong = SHOWN["client"](printed, answers=answers, reasoning=reasoning)
    return wrong and f"{wrong}\n{printed}"


def loop(example: Example, folder: Path) -> str:
    """Run a loop, and return a description of any error. The tests check its output."""
    return "" if run([python_with(example.packages), example.path], folder) else "prints nothing"


def main(names: list[str]) -> int:
    """Run the examples, and return the number of failures."""
    shutil.rmtree(BUILD / "dist", ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    run([*wheel, BUILD / "dist", ROOT], BUILD)
    kinds = {"examples": loop, "engines": engine, "clients": client}
    count, failed = 0, 0
    for example in examples():
        if names and not any(name in example.path.name for name in names):
            continue
        began = time.monotonic()
        try:
            wrong = kinds[example.path.parent.name](example, empty(example.path.stem))
        except Failed as failure:
            wrong = str(failure)
        count, failed = count + 1, failed + bool(wrong)
        took = f"{time.monotonic() - began:.0f} s"
        print(example.path.relative_to(EXAMPLES), wrong or "passed", took, flush=True)
    print(f"{count - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
