"""A scalar: two numbers, one result, and the effect of each"""
#| graph: viz.graph(f)
#| playback: viz.playback(lambda: f_of(a, b))
#| explain: print(viz.explain(a))

import minigrad as mg
from minigrad import viz

a = mg.tensor(2.0, requires_grad=True)
b = mg.tensor(-3.0, requires_grad=True)


def f_of(a, b):
    return (a * b + a.sin()) ** 2


f = f_of(a, b)
f.backward()
print(f"f = {f.item():.4f}, df/da = {a.grad.item():.4f}, df/db = {b.grad.item():.4f}")

# The definition of the derivative, with a small step:
step = 1e-3
measured = (f_of(a + step, b) - f_of(a - step, b)) / (2 * step)
print(f"measured: df/da = {measured.item():.4f}")
