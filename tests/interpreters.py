"""Other Pythons of this machine, for what must run on more than one."""

from __future__ import annotations

import os
import shutil
import subprocess


def interpreter(name: str) -> str | None:
    """The program behind a name such as python3.12; None where it is not installed.

    A name may be there without the program, as the shims of pyenv are: they want to be told
    which version is meant.
    """
    found = shutil.which(name)
    if found is None:
        return None
    told = {**os.environ, "PYENV_VERSION": name.removeprefix("python")}
    asked = [found, "-c", "import sys; print(sys.executable)"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=told)
    return done.stdout.strip() if done.returncode == 0 else None
