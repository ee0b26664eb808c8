#!/usr/bin/env python3
"""hobnob codec from the outside: what it measures, messages in files, and what it says of damaged ones."""
import array
import json
import os
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support.processes import PeersTest, run, run_tests  # noqa: E402

NAN = float("nan")


def npy(values, shape, descr="<f4"):
    header = str({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", values).tobytes()


class CodecTest(PeersTest):
    def codec(self, *arguments):
        done = run("codec", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def refuse(self, *arguments, words=()):
        done = run("codec", *arguments)
        self.assertEqual(done.returncode, 2, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def write_bytes(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read_bytes(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write_values(self, name, values):
        return self.write_bytes(name, array.array("f", values).tobytes())

    def normal(self, count, seed=1):
        draw = random.Random(seed)
        return array.array("f", [draw.gauss(0, 1) for _ in range(count)])

    # bench

    def test_bench_measures_every_codec(self):
        report = json.loads(self.codec("bench", "--values", 65536, "--repeat", 2, "--json"))
        self.assertEqual(report["values"], 65536)
        self.assertGreater(report["memcpy_gb_per_s"], 0)
        codecs = {each["codec"]: each for each in report["codecs"]}
        self.assertLessEqual({"raw", "fp32", "bf16", "int8"}, set(codecs))
        for name, each in codecs.items():
            self.assertEqual([score["source"] for score in each["distortion"]], ["gauss", "laplace", "t3"], name)
            for score in each["distortion"]:
                self.assertEqual(set(score), {"source", "values", "bits_per_value", "nmse", "snr_db", "poisoned_blocks"})
                self.assertGreater(score["bits_per_value"], 0, name)
            self.assertEqual([speed["work"] for speed in each["speed"]], ["encode", "fused", "decode", "decode4"], name)
            for speed in each["speed"]:
                for column in ("gvalues_per_s", "gb_per_s", "over_memcpy", "over_twin"):
                    self.assertGreater(speed[column], 0, (name, column))
            self.assertGreater(each["decode4_over_four_passes"], 0, name)
        snr = {score["source"]: score["snr_db"] for score in codecs["int8"]["distortion"]}
        for source, expected in (("gauss", 43.1), ("laplace", 39.9), ("t3", 35.2)):
            self.assertAlmostEqual(snr[source], expected, delta=0.3)
        self.assertAlmostEqual(codecs["int8"]["distortion"][0]["bits_per_value"], 8.06, delta=0.02)
        self.assertAlmostEqual(codecs["bf16"]["distortion"][0]["snr_db"], 55.6, delta=0.3)
        self.assertIsNone(codecs["raw"]["distortion"][0]["snr_db"], "nothing is lost")

    def test_bench_prints_tables(self):
        text = self.codec("bench", "--codec", "int8", "--codec", "bf16", "--values", 4096, "--repeat", 1,
                          "--source", "laplace", "--only", "distortion,decode")
        lines = text.splitlines()
        self.assertEqual(lines[0].split(), ["SNR,", "dB", "bits/value", "laplace"])
        self.assertEqual([line.split()[0] for line in lines[2:4]], ["int8", "bf16"])
        self.assertIn("decode  Gvalues/s", text)
        self.assertNotIn("fused  Gvalues/s", text)
        self.assertNotIn("\r", text)

    def test_bench_takes_real_values(self):
        values = self.normal(3 * 1000)
        for path in (self.write_values("x.f32", values), self.write_bytes("x.npy", npy(values, (3, 1000)))):
            report = json.loads(self.codec("bench", "--codec", "int8", "--file", path, "--only", "distortion", "--json"))
            (score,) = report["codecs"][0]["distortion"]
            self.assertEqual((score["source"], score["values"]), ("file", 3000))
            self.assertAlmostEqual(score["snr_db"], 43.1, delta=0.6)
            self.assertIsNone(report["memcpy_gb_per_s"])

    # encode, inspect, decode

    def test_messages_come_back(self):
        values = self.normal(70000)
        path = self.write_values("x.f32", values)
        for kind, bound in (("raw", 0), ("fp32", 0), ("bf16", 2 ** -8 * 5), ("int8", 5 / 127)):
            self.codec("encode", path, self.path("x.msg"), "--codec", kind)
            self.codec("decode", self.path("x.msg"), self.path("back.f32"))
            back = array.array("f", self.read_bytes("back.f32"))
            self.assertEqual(len(back), len(values))
            self.assertLessEqual(max(abs(a - b) for a, b in zip(back, values)), bound, kind)
            report = json.loads(self.codec("inspect", self.path("x.msg"), "--json"))
            self.assertEqual((report["codec"], report["values"], report["good"]), (kind, 70000, True))
            self.assertEqual([frame["values"] for frame in report["frames"]], [65536, 70000 - 65536])
            self.assertTrue(all(frame["checksum_holds"] for frame in report["frames"]))
            self.assertAlmostEqual(report["bits_per_value"], 8 * os.path.getsize(self.path("x.msg")) / 70000, 9)

    def test_inspect_shows_scales_flags_and_poison(self):
        values = array.array("f", [127 * (1 + k // 256 % 2) for k in range(65536)]) + array.array("f", 5000 * [0])
        values[300] = NAN
        path = self.write_values("x.f32", values)
        self.assertIn("1 blocks poisoned", self.codec("encode", path, self.path("x.int8")))
        report = json.loads(self.codec("inspect", self.path("x.int8"), "--json"))
        self.assertEqual([(frame["zero"], frame["poison"]) for frame in report["frames"]], [(False, True), (True, False)])
        self.assertEqual(report["zero_blocks_in_poisoned_frames"], 1)
        self.assertEqual((report["least_scale"], report["largest_scale"]), (1, 2))
        text = self.codec("inspect", self.path("x.int8"))
        for line in ("good", "codec      int8 (3)", "scales     1 to 2", "1 frames zero, 1 poisoned (1 to 1 blocks)"):
            self.assertIn(line, text)

    def test_inspect_names_the_field_that_is_wrong(self):
        path = self.write_values("x.f32", self.normal(70000))
        self.codec("encode", path, self.path("x.int8"))
        good = self.read_bytes("x.int8")
        second = 64 + 16 + 512 + 65536
        for offset, value, field, at in ((0, 1, "magic", 0), (4, 9, "version", 4), (5, 250, "codec", 5), (6, 3, "type", 6),
                                         (7, 1, "frame log2", 7), (8, 1, "block log2", 8), (22, 1, "count", 16),
                                         (24, 1, "total bytes", 24), (40, 1, "header checksum", 56),
                                         (64 + 3, 255, "frame checksum", 64), (64 + 12, 64, "flags", 64 + 12),
                                         (second + 500, 255, "frame checksum", second),
                                         (second + 11, 255, "frame", second)):
            bad = bytearray(good)
            bad[offset] ^= value
            done = run("codec", "inspect", self.write_bytes("bad", bad), "--json")
            self.assertEqual(done.returncode, 2, (offset, field))
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertIn(f"{field} at byte {at}: ", done.stderr)
            report = json.loads(done.stdout)
            self.assertFalse(report["good"])
            self.assertEqual((report["problems"][0]["field"], report["problems"][0]["offset"]), (field, at))
            self.refuse("decode", self.path("bad"), self.path("out"), words=[f"{field} at byte {at}: "])
            self.assertFalse(os.path.exists(self.path("out")))
        for length, word in ((0, "header at byte 0"), (63, "header at byte 0"), (64, "total bytes at byte 24"),
                             (len(good) - 1, "total bytes at byte 24")):
            done = run("codec", "inspect", self.write_bytes("cut", good[:length]))
            self.assertEqual(done.returncode, 2)
            self.assertIn(word, done.stderr)
            self.assertIn("damaged", done.stdout)

    # Bad input.

    def test_bad_arguments_are_refused_in_one_line(self):
        good = self.write_values("x.f32", [1, 2, 3])
        out = self.path("out")
        self.refuse("bench", "--codec", "int9", words=["int9", "int8"])
        self.refuse("bench", "--codec", "int8:blok=2", words=["blok", "block"])
        self.refuse("bench", "--codec", "int8:block", words=["KIND:key=value"])
        self.refuse("bench", "--codec", "int8:block=x", words=["block"])
        self.refuse("bench", "--codec", "int8:block=128", words=["128", "256"])
        self.refuse("bench", "--codec", "int8:block=256,block=256", words=["twice"])
        self.refuse("bench", "--source", "gaus", words=["--source", "gauss"])
        self.refuse("bench", "--only", "decod", words=["--only", "decode"])
        self.refuse("bench", "--values", 0, words=["--values"])
        self.refuse("bench", "--values", -1, words=["--values"])
        self.refuse("bench", "--values", 2 ** 32 + 1, words=["--values"])
        self.refuse("bench", "--repeat", 0, words=["--repeat"])
        self.refuse("bench", "--file", self.path("nowhere"), words=["nowhere"])
        self.refuse("bench", "--file", self.folder.name, words=["is it a file?"])
        self.refuse("bench", "--file", self.write_values("nan.f32", [1, NAN]), words=["value 1 is not finite"])
        self.refuse("encode", good, out, "--codec", "int9", words=["int9"])
        self.refuse("encode", self.path("nowhere"), out, words=["nowhere"])
        self.refuse("encode", good, os.path.join(self.path("nowhere"), "out"), words=["cannot be written"])
        self.refuse("encode", good, "/dev/null", words=["/dev/null"])
        self.refuse("encode", good, words=["OUT"])
        self.refuse("inspect", self.path("nowhere"), words=["nowhere"])
        self.refuse("decode", good, out, words=["header at byte 0"])
        self.assertFalse(os.path.exists(out))

    def test_bad_value_files_are_refused(self):
        for name, data, word in (("a.f32", b"", "is empty"), ("b.f32", b"12345", "5 bytes"),
                                 ("c.npy", b"12345678", "does not begin"), ("d.npy", b"\x93NUMPY", "not a NumPy file"),
                                 ("e.npy", npy([1, 2], (3,)), "3 values"), ("f.npy", npy([1, 2], (1,), "<f8"), "<f8"),
                                 ("g.npy", npy([], (0,)), "no values"), ("h.npy", npy([1], (2 ** 40, 2 ** 40)), "shape"),
                                 ("i.npy", npy([1], (1,))[:20], "ends within"),
                                 ("j.npy", npy([1], "(1,"), "shape")):
            self.refuse("encode", self.write_bytes(name, data), self.path("out"), words=[name, word])


if __name__ == "__main__":
    sys.exit(run_tests())
