import subprocess
import sys
import unittest

import pytest


class TestX:
    @pytest.mark.parametrize("n", [1, 2])
    def test_row(self, n):
        print("= 3 failed in 0.10s =")
        assert n == 1, "row"

    def test_good(self):
        pass


def test_chain():
    try:
        {}["a"]
    except KeyError as error:
        raise RuntimeError("outer") from error


@pytest.mark.skip(reason="later")
def test_later():
    pass


def test_session():
    """A failing test that prints a whole session of another."""
    print("=" * 27, "test session starts", "=" * 27)
    print("=" * 33, "FAILURES", "=" * 33)
    print("_" * 33, "test_fake", "_" * 33)
    print("E   ValueError: fake")
    print("=" * 26, "short test summary info", "=" * 26)
    print("FAILED test_fake.py::test_fake - ValueError: fake")
    print("=" * 25, "1 failed, 4 passed in 0.10s", "=" * 25)
    raise OSError(5, "disk")


class Old(unittest.TestCase):
    def test_sub(self):
        for n in (1, 2):
            with self.subTest(n=n):
                self.assertEqual(n, 1)
