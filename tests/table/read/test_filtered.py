"""Arrow's threads read ahead; none of them is cut off by the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# The next block takes a while to come, as from a slow disk, and the program ends meanwhile.
ENDS_WHILE_READING = """
import io, sys, time
import pyarrow.csv
from chainveil.table.read.filtered import FilteredBytes, lent_to_arrow

class Slow(FilteredBytes):
    blocks = 0
    def read(self, size=-1):
        self.blocks += 1
        if self.blocks > 2:
            time.sleep(0.3)
        return b"a,b\\n" + b"1,2\\n" * 100

options = pyarrow.csv.ReadOptions(use_threads=False, block_size=404)
reader = pyarrow.csv.open_csv(lent_to_arrow(Slow(io.BytesIO())), read_options=options)
print(reader.read_next_batch().num_rows)
reader.close()
del reader
sys.exit(2)
"""


def test_a_program_that_ends_while_arrow_reads_ahead_is_not_aborted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS_WHILE_READING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "100\n", "")


# Arrow lets go of a file that is still held only when the process is over.
FORKS_WHILE_READING = """
import io, os, sys, time
from chainveil.table.read.filtered import FilteredBytes, lent_to_arrow

held = lent_to_arrow(FilteredBytes(io.BytesIO()))
begun = time.monotonic()
child = os.fork()
if child:
    os.waitpid(child, 0)
    print(time.monotonic() - begun < 1.5)
    del held
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS_WHILE_READING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "True\n")
