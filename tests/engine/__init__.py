"""A real inference engine on this machine: llama.cpp with a model of random weights that reads bytes.

What such a model says is noise, but how much of a prompt the engine takes from its cache depends on the prompt alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

NPM_PACKAGES = {"node-llama-cpp": "3.22.1", "@node-llama-cpp/linux-x64": "3.22.1"}
"""The second holds llama.cpp itself, built; nothing is compiled, and no install script runs."""
INSTALL_SECONDS, RUN_SECONDS = 180, 100
SCRIPT = Path(__file__).with_name("reuse.mjs")


def installed_node_modules() -> Path:
    """Return a folder outside the project with the npm packages in it, installed at the first call."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are needed for the real engine")
    home = Path(tempfile.gettempdir()) / f"ga_context-engine-{os.getuid()}-{NPM_PACKAGES['node-llama-cpp']}"
    if home.is_dir():
        return home
    fresh = Path(tempfile.mkdtemp(prefix="ga_context-engine-"))
    (fresh / "package.json").write_text('{"private": true, "type": "module"}', "utf-8")
    names = [f"{name}@{version}" for name, version in NPM_PACKAGES.items()]
    command = ["npm", "install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", *names]
    done = subprocess.run(command, cwd=fresh, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if done.returncode:
        shutil.rmtree(fresh)
        pytest.skip(f"npm could not install {', '.join(names)}: {done.stderr.strip()[-300:]}")
    try:
        fresh.rename(home)
    except OSError:  # another run was faster
        shutil.rmtree(fresh)
    return home


def reused_tokens(prompts: Sequence[bytes], folder: Path) -> list[dict[str, int]]:
    """Send prompts to the engine one after the other; each byte is a token.

    Returns for each: ``prompt``, ``reused`` (tokens that stood in the cache) and ``evaluated`` (tokens computed).
    """
    from engine.tiny_model import write_tiny_model  # with numpy and gguf, which only this needs

    home = installed_node_modules()
    model = write_tiny_model(folder / "tiny.gguf", context=max(map(len, prompts)) + 64)
    asked = folder / "prompts.json"
    asked.write_text(json.dumps([list(prompt) for prompt in prompts]), "utf-8")
    script = shutil.copy(SCRIPT, home / f"reuse-{os.getpid()}.mjs")  # beside node_modules, where imports are looked up
    try:
        command = ["node", script, str(model), str(asked)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False, cwd=home)
    finally:
        Path(script).unlink()
    assert done.returncode == 0, done.stderr[-2_000:]
    answers: list[dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return answers
