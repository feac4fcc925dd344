"""Zone and rack of a node, from the pool's file or from a program that asks the network."""
import unittest
from pathlib import Path

from parts import PartsTest

RACKS = """
zones:
  a:
    racks:
      r1: ["n[1-2]"]
      r2: ["n[3-4]"]
"""


class Place(PartsTest):
    def labels(self, name, place, *options):
        """RETURNS: those of a node that has joined."""
        self.pool.join(name, options=["--place", place, *options])
        return self.pool.node(name).get("labels", {})

    def file(self, name, text, mode=0o644):
        path = Path(self.pool.folder, name)
        path.write_text(text)
        path.chmod(mode)
        return path

    def test_a_file_tells_the_rack_and_a_job_may_ask_for_it(self):
        self.pool.serve()
        racks = self.file("racks.yaml", RACKS)
        self.assertEqual(self.labels("n2", racks), {"zone": "a", "rack": "r1"})
        self.assertEqual(self.labels("n3", racks, "--label", "zone=b"),
                         {"zone": "b", "rack": "r2"}, "what was said by hand is nearer")
        self.assertEqual(self.labels("n5", racks), {})
        self.assertIn("place_unknown", self.pool.agents["n5"].text())
        job = self.pool.submit("--node-labels", "rack=r2", "--", "true")
        told = self.pool.wait_job(job)
        self.assertEqual((told["status"], told["nodes"]), ("COMPLETED", ["n3"]))

    def test_a_program_tells_the_rack(self):
        self.pool.serve()
        hook = self.file("hook", '#!/bin/sh\necho "rack=of-$1"\necho switch=leaf7\n', 0o755)
        self.assertEqual(self.labels("n1", hook), {"rack": "of-n1", "switch": "leaf7"})

    def test_what_cannot_be_used_is_named(self):
        self.pool.serve()
        torn = self.file("torn.yaml", "racks:\n  r1: n1\n")
        fails = self.file("fails", "#!/bin/sh\nexit 3\n", 0o755)
        hangs = self.file("hangs", "#!/bin/sh\nexec >&-\nsleep 300\n", 0o755)
        talks = self.file("talks", "#!/bin/sh\necho hello\n", 0o755)
        for place, words in ((torn, f"{torn}:2:7: the nodes of rack r1 must be a list"),
                             (fails, f"{fails} n1 failed: exit code 3"),
                             (hangs, f"{hangs} has not ended after 10 s"),
                             (talks, 'printed "hello", which is not KEY=VALUE'),
                             ("/no/file", "/no/file: cannot be read")):
            with self.subTest(place=place):
                agent = self.pool.join("n1", options=["--place", place], ready=False)
                self.assertNotEqual(agent.wait(), 0)
                self.assertIn(words, agent.text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
