import unittest


class A(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pass

    def test_prints(self):
        print("=" * 70)
        print("FAIL: test_fake (test_a.A.test_fake)")
        print("-" * 70)
        print("ValueError: fake")
        self.assertEqual({"a": 1}, {"a": 2})

    def test_deep(self):
        try:
            int("x")
        except ValueError as error:
            raise LookupError("not found") from error


class B(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no disk")

    def test_b(self):
        pass
