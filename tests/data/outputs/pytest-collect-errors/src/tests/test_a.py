import nowhere_at_all


def test_a():
    pass
