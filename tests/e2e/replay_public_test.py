#!/usr/bin/env python3
"""scripts/replay_public: how it reads its source and counts points, and a small replay of DLPerf's
trials. replay_public_test.py BERTBENCH SOURCE_DIR"""

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

BERTBENCH, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("replay_public", os.path.join(SOURCE, "scripts/replay_public"))
replay = importlib.util.module_from_spec(importlib.util.spec_from_loader("replay_public", loader))
loader.exec_module(replay)
replay.BERTBENCH = BERTBENCH

# A series whose level falls by a tenth at run 20, in the form of the test that holds the real one.
TEST = """
def _get_series():
    return {series}

def test_of_a_setting():
    indexes = [0]
    assert indexes == [20, 33]
"""
SERIES = [1000 + (7 * i) % 5 for i in range(20)] + [900 + (7 * i) % 5 for i in range(20)]


def archive_in(folder):
    path = os.path.join(folder, "otava.tar.gz")
    text = TEST.format(series=SERIES).encode()
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("apache_otava/" + replay.OTAVA_TEST)
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return path


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def printed(self, call, *words):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            call(*words)
        return text.getvalue()

    def test_the_series_and_what_otava_finds_are_read_from_the_archive(self):
        path = archive_in(self.folder)
        with open(path, "rb") as archive:
            digest = hashlib.sha256(archive.read()).hexdigest()
        with unittest.mock.patch.object(replay, "OTAVA_SHA256", digest):
            self.assertEqual(replay.tigerbeetle(path), (SERIES, {"test_of_a_setting": [20, 33]}))

    def test_another_archive_is_refused(self):
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()):
            replay.tigerbeetle(archive_in(self.folder))
        self.assertEqual(ended.exception.code, 2)

    def test_a_point_counts_for_a_drawn_one_within_two_runs(self):
        with unittest.mock.patch.object(replay, "DRAWN", [20, 60]):
            self.assertEqual(replay.points_words([22, 33, 63]), "1 of 2 drawn; 2 others")

    def test_change_points_and_gate_of_a_series(self):
        with unittest.mock.patch.object(replay, "DRAWN", [20]), unittest.mock.patch.object(replay, "STEADY_FROM", 20):
            trend = self.printed(replay.replay_trend, SERIES, {}, self.folder)
            gate = self.printed(replay.replay_gate, SERIES, self.folder)
        self.assertIn("1 of 1 drawn; 0 others", trend)
        self.assertIn("[20]", trend)
        self.assertIn("1 of 4 called slower, at runs [21]", gate)

    def test_dlperf_grids_of_equal_runs_pass_and_a_slowed_cell_is_found(self):
        text = self.printed(replay.replay_dlperf, 2, 1, self.folder)
        self.assertIn("2 grids of 6 cells drawn from the trials, baseline of 5: 0 clean ones fail", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
