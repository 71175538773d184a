def test_a():
    assert 1 == 2
