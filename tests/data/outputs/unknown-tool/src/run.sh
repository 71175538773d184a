echo "ERROR: something: 3"; echo "a.py:3: nothing"; exit 3
