#!/usr/bin/env python3
"""hobnob topology from the outside, and live swarms on every kind of graph."""
import json
import os
import pathlib
import signal
import socket
import sys
import time
import urllib.request
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.processes import PeersTest, Process, example_job, run, run_tests  # noqa: E402

QUADRATIC = {"workload__curvature": [[1.0, 2.0], [2.0, 1.0], [1.5, 1.5]],
             "workload__target": [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]]}


class TopologyTest(PeersTest):
    def topology(self, *arguments, timeout=60):
        done = run("topology", *arguments, timeout=timeout)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refuse(self, *arguments, words=()):
        done = run("topology", *arguments)
        self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    # The verbs.

    def test_verify_proves_its_promises(self):
        report = json.loads(self.topology("verify", "--json", timeout=120))
        self.assertTrue(report["passed"])
        names = " ".join(check["name"] for check in report["checks"])
        for word in ("golden", "Base-9: exact for n = 1..256", "CECA-2P: exact for n = 2..1024", "periods"):
            self.assertIn(word, names)

    def test_show_gives_the_golden_plan(self):
        shown = json.loads(self.topology("show", "trie-pairs", "--n", 8, "--seed", 3, "--round", 0, "--json"))
        pairs = sorted((link["from"] + 1, link["to"] + 1) for link in shown["rounds"][0]["links"])
        self.assertEqual(pairs, [(1, 3), (2, 4), (5, 8), (6, 7)])

    def test_show_draws_a_picture(self):
        path = os.path.join(self.folder.name, "two-level.svg")
        self.topology("show", "two-level:g=4", "--n", 16, "--sites", "4x4", "--round", "0..3", "--svg", path)
        picture = xml.etree.ElementTree.parse(path).getroot()
        circles = list(picture.iter("{http://www.w3.org/2000/svg}circle"))
        self.assertEqual(len(circles), 4 * 16)
        texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("site 3", texts)
        dot = self.topology("show", "one-peer-exponential", "--n", 5, "--round", 0, "--dot")
        self.assertIn("0 -> 1", dot)

    def test_rate_and_compare_agree_with_theory(self):
        report = json.loads(self.topology("rate", "hypercube", "star", "base-k:k=1", "--n", "8,64", "--json"))
        rho = {(each["schedule"], each["peers"]): each["rho"] for each in report["ratings"]}
        self.assertAlmostEqual(rho["hypercube", 64], 1 - 2 / 7, 9)
        self.assertAlmostEqual(rho["star", 8], 1 - 1 / 8, 9)
        self.assertEqual(rho["base-k:k=1", 64], 0)
        table = self.topology("compare", "trie-pairs", "trie-groups:g=8", "--n", 25)
        self.assertIn("vectors to 1e-6", table)
        self.assertEqual(len([line for line in table.splitlines() if line.startswith("trie-")]), 2)

    def test_weights_of_a_path_are_the_known_ones(self):
        path = self.write("path.edges", "".join(f"{k} {k + 1}\n" for k in range(7)))
        report = json.loads(self.topology("weights", path, "--json"))
        rho = {rule["rule"]: rule["rho"] for rule in report["rules"]}
        for rule, value in (("mh", .9493), ("max-degree", .9493), ("lazy", .9746), ("best", .9239), ("fdla", .9239)):
            self.assertAlmostEqual(rho[rule], value, 4)
        bound = next(rule["bound"] for rule in report["rules"] if rule["rule"] == "fdla")
        self.assertLessEqual(bound, rho["fdla"])

    def test_weights_of_a_file_and_towards_a_target_have_rows_when_they_are_given(self):
        path = self.write("own.edges", "0 1 1/2\n1 2 1/4\n")
        rules = {rule["rule"]: rule for rule in json.loads(self.topology("weights", path, "--json"))["rules"]}
        self.assertEqual(rules["file"]["weights"], [.5, .25])
        self.assertNotIn("target", rules)
        rules = {rule["rule"]: rule
                 for rule in json.loads(self.topology("weights", path, "--target", "600,150,75", "--json"))["rules"]}
        ab, ba, bc, cb = rules["target"]["weights"]
        # p W = p: what flows from a to b flows back.
        self.assertAlmostEqual(600 * ab, 150 * ba, 9)
        self.assertAlmostEqual(150 * bc, 75 * cb, 9)
        self.assertLess(rules["target"]["rho"], 1)
        # Equal shares are plain Metropolis-Hastings.
        rules = {rule["rule"]: rule
                 for rule in json.loads(self.topology("weights", path, "--target", "1,1,1", "--json"))["rules"]}
        self.assertAlmostEqual(rules["target"]["rho"], rules["mh"]["rho"], 9)
        self.refuse("weights", path, "--target", "600,x,75", words=["--target", '"x"'])
        self.refuse("weights", path, "--target", "600,75", words=["--target"])
        self.refuse("weights", path, "--rule", "target", words=["--target"])
        self.refuse("weights", self.write("bare.edges", "0 1\n"), "--rule", "file", words=["weights"])

    def test_pipeline_examples_reach_their_optima(self):
        for name, optimum in (("a", 8.0), ("b", 3.90625), ("b-int8", 5.0), ("c", 15.0)):
            report = json.loads(self.topology("pipeline", name, "--json"))
            self.assertTrue(report["best_is_optimal"], name)
            self.assertAlmostEqual(report["best_known"], optimum, 6)
            self.assertAlmostEqual(report["placement_throughput"], optimum, 6)
        large = json.loads(self.topology("pipeline", "d", "--json"))
        self.assertGreater(large["placement_throughput"], .98 * 33.88010)

    def test_view_diff_names_who_is_missing(self):
        ids = [f"{k:032x}" for k in range(1, 101)]
        one = self.write("a.json", json.dumps({"view": ids}))
        other = self.write("b.json", json.dumps({"view": ids[:-1]}))
        report = json.loads(self.topology("view-diff", one, other, "--json"))
        self.assertEqual((report["only_in_first"], report["only_in_second"]), ([ids[-1]], []))
        self.assertGreater(report["agreed_edges"], .9)
        self.assertLess(report["agreed_edges"], 1)
        # The same ids, of which one cannot be dialed: not the same view.
        hidden = self.write("c.json", json.dumps({"view": ids, "can_be_dialed": [False, False] + [True] * 98}))
        report = json.loads(self.topology("view-diff", one, hidden, "--json", "--schedule", "complete"))
        self.assertNotEqual(*report["digests"])
        self.assertAlmostEqual(report["agreed_edges"], 1 - 1 / (100 * 99 / 2), 9)

    # Bad input.

    def test_bad_arguments_are_refused_in_one_line(self):
        self.refuse("show", "trie-pear", words=["trie-pear", "trie-pairs"])
        self.refuse("show", "ring", "--n", 0, words=["--n"])
        self.refuse("show", "ring", "--n", 1000000000, words=["--n"])
        self.refuse("show", "grid:dims=5xx", words=["dims"])
        self.refuse("show", "trie-groups:g=1", words=["g", "2..64"])
        self.refuse("show", "ring:g=4", words=["g"])
        self.refuse("show", "ring", "--round", "5..2", words=["--round"])
        self.refuse("show", "two-level", "--n", 10, "--sites", "4x4", words=["--sites", "4x4"])
        self.refuse("rate", "ring", "--n", "8,zero", words=["--n", "zero"])
        self.refuse("rate", "ring", "--drop", "nan", words=["--drop"])
        self.refuse("pipeline", "nowhere.json", words=["nowhere.json", "b-int8"])
        self.refuse("view-diff", "nowhere.json", "nowhere.json", words=["nowhere.json"])

    def test_bad_graphs_are_refused_with_the_line_or_the_node(self):
        for text, words in (("", ["no edges"]),
                            ("0 1\n2 3\n", ["node 2 cannot be reached from node 0"]),
                            ("0: 1\n1: 2\n2: 1\n", ["0", "1"]),
                            ("0 1 nan\n", ["nan"]),
                            ("0 1 3/4\n0 2 3/4\n", ["0"]),
                            ("0 1000000000\n", ["1000000000"]),
                            ("0 1 1/2\n1 0 1/3\n", ["line 2"]),
                            ("0 0\n", ["bad.edges:1"]),
                            ("zero one\n", ["bad.edges:1", "zero"])):
            self.refuse("weights", self.write("bad.edges", text), words=["bad.edges", *words])
        self.refuse("weights", "nowhere.edges", words=["nowhere.edges"])
        path = self.write("good.edges", "0 1\n1 2\n")
        self.refuse("weights", path, "--rule", "best-effort", words=["--rule", "sinkhorn"])

    # Live.

    def write_job(self, **changes):
        return self.write("job.json", json.dumps(example_job("quadratic", **QUADRATIC, **changes)))

    def test_a_live_swarm_trains_on_every_kind(self):
        kinds = json.loads(run("job", "schema").stdout)
        text = json.dumps(kinds)
        names = text[text.index("trie-pairs"):].split('"')[0].split(" | ")
        self.assertGreater(len(names), 25)
        self.write("ring.edges", "0 1\n1 2\n2 0\n")
        for name in names:
            topology = {"kind": name}
            if name == "file":
                topology["path"] = os.path.join(self.folder.name, "ring.edges")
            job = self.write_job(rounds=150, gossip__topology=topology, target=None)
            with self.subTest(name):
                done = run("swarm", "--job", job, "--peers", 3, "--json", timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                for peer in json.loads(done.stdout)["peers"]:
                    self.assertEqual(peer["exit"], 0)
                    self.assertGreater(peer["edge_bytes_sent"], 150 * 64 / 2, "models were exchanged in half of the rounds")

    def test_a_swarm_over_two_sites_knows_them_and_trains(self):
        job = self.write_job(rounds=1_000_000, gossip__topology={"kind": "two-level", "g": 2}, target=None)
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        swarm = Process("swarm", "--job", job, "--peers", 3, "--sites", "lab,cloud", "--http", address, "--json")
        self.addCleanup(swarm.kill)
        wanted = ["cloud", "lab", "lab"]
        sites, limit = [], time.monotonic() + 30
        while sites != wanted and time.monotonic() < limit and swarm.read(0.1):
            try:
                with urllib.request.urlopen(f"http://{address}/peers", timeout=5) as page:
                    sites = sorted(peer["site"] for peer in json.load(page)["peers"])
            except OSError:
                continue  # not listening yet
        self.assertEqual(sites, wanted)
        swarm.signal(signal.SIGINT)
        self.assertEqual(swarm.finish(20), 130)
        peers = json.loads(swarm.process.stdout.read())["peers"]
        self.assertTrue(all(peer["rounds"] > 0 and peer["bytes_sent"] > 0 for peer in peers), peers)

    def test_a_graph_file_travels_with_the_job(self):
        self.write("ring.edges", "0 1\n1 2\n2 0\n")
        job = self.write_job(rounds=1_000_000, gossip__topology={"kind": "file", "path": "ring.edges"}, target=None)
        first = self.start("--job", job, "--min-peers", 3)
        os.remove(os.path.join(self.folder.name, "ring.edges"))
        for _ in range(2):
            self.start("--bootstrap", first.listen)
        first.wait_until(lambda status: status["rounds_done"] > 30 and status["members"] == 3)
        self.assertEqual(len(first.get("/topology")["partners"]), 2)

    def test_peers_that_cannot_be_dialed_never_form_an_edge(self):
        job = self.write_job(rounds=1_000_000, gossip__topology={"kind": "complete"}, target=None)
        first = self.start("--job", job, "--min-peers", 3, "--site", "home")
        hidden = [self.start("--bootstrap", first.listen, "--advertise", "none", "--site", "away") for _ in range(2)]
        ids = [peer.wait_until(lambda status: status["rounds_done"] > 30 and status["members"] == 3)["peer"]
               for peer in hidden]
        for peer, other in ((hidden[0], ids[1]), (hidden[1], ids[0])):
            edges = [edge["peer"] for edge in peer.get("/edges")["edges"]]
            self.assertEqual(edges, [first.get("/status")["peer"]])
            self.assertNotIn(other, edges)
        members = first.get("/peers")["peers"]
        self.assertEqual(sorted(member["site"] for member in members), ["away", "away", "home"])
        self.assertEqual(sum(member["address"] is None for member in members), 2)


if __name__ == "__main__":
    sys.exit(run_tests())
