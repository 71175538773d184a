def test_a():
    print("1 failed in 0.1s")
