"""Your own rule, and gradcheck: change the rule, and see which element is wrong"""
#| graph: viz.graph(y)
#| playback: viz.playback(lambda: cube(x).sum())
#| explain: print(viz.explain(x))

import minigrad as mg
from minigrad import viz
from minigrad.ops.op import op


@op("dx = 3 g x²", x=lambda g, x: g * (3 * x * x))  # try 2 * x * x
def cube(x):
    """x³"""
    return x * x * x


x = mg.tensor([1.0, -2.0, 0.5], dtype=mg.float64, requires_grad=True)
y = cube(x).sum()
y.backward()
print("gradient", x.grad.tolist())

print("first order agrees with finite differences:", mg.autograd.gradcheck(cube, [x]))
print("second order agrees:", mg.autograd.gradgradcheck(cube, [x]))
