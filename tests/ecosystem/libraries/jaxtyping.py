"""Shapes and dtypes of tensors, checked by isinstance, also against each other"""

import torch
from jaxtyping import Float, Int, Num, Shaped, jaxtyped


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    with jaxtyped("context"):
        if not isinstance(a, Float[torch.Tensor, "n k"]) or not isinstance(b, Float[torch.Tensor, "k m"]):
            raise TypeError("the shapes do not fit together")
        result = a @ b
        assert isinstance(result, Float[torch.Tensor, "n m"])
    return result


def run() -> dict[str, object]:
    torch.manual_seed(0)
    a, b = torch.randn(2, 3), torch.randn(3, 4)
    try:
        product(a, b.T)
        refused = "no"
    except TypeError:
        refused = "yes"
    counts, tensor = torch.ones(2, dtype=torch.int64), torch.Tensor
    kinds = [Float[tensor, "2 3"], Int[tensor, "..."], Num[tensor, "2 *rest"], Shaped[tensor, "_"]]
    results = {"product": product(a, b), "parameter": str(isinstance(torch.nn.Parameter(a), kinds[0]))}
    results["kinds"] = str([(isinstance(a, kind), isinstance(counts, kind)) for kind in kinds])
    return {**results, "refused": refused}
