import unittest


class A(unittest.TestCase):
    def test_a(self):
        pass
