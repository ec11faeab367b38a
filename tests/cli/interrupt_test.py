"""Long runs: the line on a terminal, and what Ctrl-C leaves."""

import os
import pty
import select
import signal
import subprocess
import time

import quern_case
from quern_case import MATMUL, QuernCase

LONG = "run m.qn --on interpreter --dim M=2000 --dim K=2000 --dim N=2000 --seed 1 --threads 1 -o c.npy"


class Interrupt(QuernCase):
    def setUp(self):
        super().setUp()
        self.write("m.qn", MATMUL)
        self.write("c.npy", b"old")

    def untouched(self):
        self.assertEqual(self.files(), ["c.npy", "m.qn"])
        self.assertEqual((self.folder / "c.npy").read_bytes(), b"old")

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([quern_case.PROGRAM, *LONG.split()], cwd=self.folder,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(1.5)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            # No terminal, no line.
            self.assertEqual((process.returncode, out, err), (130, b"", b""))
            self.untouched()

    def test_ignored_signals_stay_ignored(self):
        process = subprocess.Popen([quern_case.PROGRAM, *"run m.qn --dim M=9 --dim K=9 --dim N=9 --seed 1".split()],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_line_on_a_terminal(self):
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execv(quern_case.PROGRAM, [quern_case.PROGRAM, *LONG.split()])
        shown, sent, begin = b"", False, time.monotonic()
        while time.monotonic() - begin < 60:
            if not select.select([terminal], [], [], 0.1)[0]:
                continue
            try:
                part = os.read(terminal, 4096)
            except OSError:
                break  # the other end is gone
            if not part:
                break
            shown += part
            # Once for reading or drawing, which may also be over within its second.
            if not sent and b"computing:" in shown:
                os.write(terminal, b"\x03")
                sent = True
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 130)
        self.assertRegex(shown, rb"\r\x1b\[Kcomputing:( \d+ %,)? \d+ s")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown)
        self.untouched()


if __name__ == "__main__":
    quern_case.main()
