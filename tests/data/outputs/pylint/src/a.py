import os


def f(x, l=[]):
    if x == None:
        return undefined
    return l
