"""Runs the examples as `examples/README.md` says, each in an environment that has nothing else.

    python tools/loops/run.py [NAME ...]     all of them, or those whose file's name has NAME in it

For each list of packages in the tables a virtual environment is made under build/loops, with the
wheel of this checkout and these packages; or a folder with node_modules. The example then runs in
an empty folder. Engines take random models; vLLM, SGLang and endpoints have no GPU here, so what
stands for their engines is a script, behind their own classes (`stand_ins.py`).
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
ROW = re.compile(r"^\| ([^|]+) \| `([\w.]+)` \| (\d+) \| (.*) \|$", re.MULTILINE)
ANSWERS = {  # of the model that a client prints, and how many of them show reasoning
    "ai_sdk_client.mjs": (3, 3),
    "langchain_client.py": (3, 2),
    "litellm_client.py": (2, 2),
    "openai_client.mjs": (2, 2),
    "pydantic_ai_client.py": (2, 2),
}
SHORT = 12
"""Tokens that cut a call off."""


@dataclass(frozen=True)
class Example:
    """A row of the tables."""

    path: Path
    lines: int
    takes: str
    packages: tuple[str, ...]


def examples() -> Iterator[Example]:
    """Iterate over the rows of the README, in its order."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0].lower()
        folder = EXAMPLES if title == "loops" else EXAMPLES / title
        for _, name, lines, rest in ROW.findall(section):
            cells = [cell.strip().strip("`") for cell in rest.split(" | ")]
            takes, packages = {"loops": ("", ""), "engines": cells[:2]}.get(title, ("", cells[0]))
            yield Example(folder / name, int(lines), takes, tuple(packages.split()))


def run(command: list[str | Path], folder: Path, **options: object) -> str:
    """Run a command; return what it prints. Ends the program where it fails."""
    environment = os.environ | {"PYTHONUTF8": "1", "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        **options,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def python_with(packages: tuple[str, ...]) -> Path:
    """Return the interpreter of a new environment with the wheel and these packages."""
    folder = BUILD / "-".join(["venv", *(re.sub(r"\W.*", "", name) for name in packages)])
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
    """Run a server, its port being the last argument; yield its address once it listens."""
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


def engine(example: Example) -> None:
    """Run an engine's example: a whole turn, and one that is cut off."""
    name, python = example.path.stem, python_with(example.packages)
    folder = empty(name)
    if name in STOOD_IN:
        printed = run([python_of_servers(), HERE / "stand_ins.py", example.path], folder)
        check(example, "" if printed.endswith("as it should\n") else printed)
        return
    with given(example, python, folder) as arguments:
        for limit in ((), (SHORT,)):
            printed = run([python, example.path, *arguments, *map(str, limit)], folder)
            check(example, SHOWN["engine"](printed, cut=bool(limit)), printed)


def client(example: Example) -> None:
    """Run a client's example against the example of a server."""
    answers, reasoning = ANSWERS.get(example.path.name, (1, 1))
    folder = empty(example.path.stem)
    with started([python_with(()), EXAMPLES / "clients" / "server.py"]) as url:
        if example.path.suffix == ".mjs":
            shutil.copy(example.path, folder)
            run(["npm", "install", "--silent", *example.packages], folder)
            command: list[str | Path] = ["node", example.path.name]
        else:
            command = [python_with(example.packages), example.path]
        printed = run([*command, url], folder)
    check(example, SHOWN["client"](printed, answers=answers, reasoning=reasoning), printed)
