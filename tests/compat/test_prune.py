"""torch.nn.utils.prune: each method on both libraries, one after another; removing, saving and copying."""

import copy
import importlib
import pickle
from typing import Any

from tests.support.both import agree, numbers, refuse
from tests.support.cases import cases
from tests.support.expressions import evaluate, split

METHODS = """
identity(layer, name) ; random_unstructured(layer, name, 0.4) ; l1_unstructured(layer, name, amount=3)
l1_unstructured(layer, name, 0.35) ; l1_unstructured(layer, name, 0) ; random_structured(layer, name, amount=1, dim=0)
ln_structured(layer, name, amount=0.5, n=2, dim=1) ; ln_structured(layer, name, 1, math.inf, -2)
"""


def pruning(t: Any) -> Any:
    """The library's module; PyTorch does not import it automatically."""
    return importlib.import_module(f"{t.__name__}.nn.utils.prune")


def layer(t: Any) -> Any:
    """A layer without ties among its numbers."""
    linear = t.nn.Linear(4, 3).double()
    linear.weight.data.copy_(t.from_numpy(numbers(3, 4)))
    linear.bias.data.fill_(0.5)
    return linear


def parts(linear: Any) -> list[Any]:
    """Everything that pruning changes."""
    hooks = [type(hook).__name__ for hook in linear._forward_pre_hooks.values()]
    names = [sorted(linear._parameters), sorted(linear._buffers), hooks]
    return [*names, linear.weight.detach(), *(b for _, b in sorted(linear.named_buffers()))]


@cases("first, second", zip(split(METHODS), [*split(METHODS)[1:], split(METHODS)[0]], strict=True))
def test_two_prunings_and_a_step_between(first: str, second: str) -> None:
    def program(t: Any, x: Any) -> Any:
        t.manual_seed(5)
        linear = layer(t)
        optimizer = t.optim.SGD(linear.parameters(), lr=0.1)
        evaluate(f"prune.{first}", prune=pruning(t), layer=linear, name="weight")
        once = parts(linear)
        linear(x).square().sum().backward()
        optimizer.step()  # the optimizer's parameter is now weight_orig
        evaluate(f"prune.{second}", prune=pruning(t), layer=linear, name="weight")
        twice = [*parts(linear), pruning(t).is_pruned(linear), linear.weight_orig.grad]
        output = linear(x)
        pruning(t).remove(linear, "weight")
        return [*once, *twice, output.detach(), *parts(linear), linear.weight is optimizer.param_groups[0]["params"][0]]

    agree(program, numbers(2, 4, seed=1), gradient=False)


def test_scores_replace_the_parameter() -> None:
    def program(t: Any, scores: Any) -> Any:
        one, other = layer(t), layer(t)
        pruning(t).l1_unstructured(one, "weight", 5, importance_scores=scores)
        pruning(t).ln_structured(other, "weight", 2, 1, 1, importance_scores=scores)
        method = pruning(t).L1Unstructured(amount=2)
        return [one.weight_mask, other.weight_mask, method.prune(one.weight.detach(), importance_scores=scores)]

    agree(program, numbers(3, 4, seed=9), gradient=False)


@cases("shape", [(3, 4), (2, 3, 4), (2, 3, 2, 2)])
def test_masks_of_every_axis(shape: tuple[int, ...]) -> None:
    def program(t: Any, scores: Any) -> Any:
        methods = [pruning(t).LnStructured(1, 2, dim) for dim in range(-len(shape), len(shape))]
        return [method.compute_mask(scores.detach(), t.ones(shape)) for method in methods]

    agree(program, numbers(*shape), gradient=False)


def test_several_parameters_as_one() -> None:
    def program(t: Any) -> Any:
        prune, linear, other = pruning(t), layer(t), layer(t)
        prune.l1_unstructured(other, "weight", 2)
        pairs = [(linear, "weight"), (other, "weight"), (linear, "bias")]
        with t.no_grad():
            linear.bias.copy_(t.tensor([0.01, 5.0, -0.02]))
            other.weight_orig.mul_(3)
        prune.global_unstructured(pairs, pruning_method=prune.L1Unstructured, amount=0.5)
        scores = {(linear, "weight"): t.arange(12.0, dtype=t.float64).reshape(3, 4)}
        prune.global_unstructured(pairs, prune.L1Unstructured, scores, amount=3)
        return [*parts(linear), *parts(other), linear.bias.detach()]

    agree(program, gradient=False)


def test_a_custom_mask_and_method() -> None:
    def program(t: Any) -> Any:
        prune = pruning(t)

        class EveryOther(prune.BasePruningMethod):  # type: ignore[misc, name-defined]
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t: Any, default_mask: Any) -> Any:
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        linear = layer(t)
        prune.custom_from_mask(linear, "weight", t.eye(3, 4))
        prune.custom_from_mask(linear, "bias", mask=t.tensor([1, 0, 1]))
        EveryOther.apply(linear, "weight")
        hook = linear._forward_pre_hooks[max(linear._forward_pre_hooks)]
        return [*parts(linear), len(hook), [type(each).__name__ for each in hook], hook[1].PRUNING_TYPE]

    agree(program, gradient=False)


REFUSED = """
l1_unstructured(linear, "weight", 1.5) ; l1_unstructured(linear, "weight", -1)
l1_unstructured(linear, "weight", "all") ; l1_unstructured(linear, "weight", 13)
custom_from_mask(linear, "weight", linear.bias.detach().reshape(-1, 1))
ln_structured(linear, "bias", 1, 2, 0) ; random_structured(linear, "weight", 1, 5) ; remove(linear, "weight")
random_structured(linear, "weight", 4, 0) ; l1_unstructured(linear, "weight", 1, importance_scores=linear.bias)
global_unstructured([(linear, "weight")], prune.LnStructured, amount=1, n=2) ; BasePruningMethod()
global_unstructured(5, prune.L1Unstructured, amount=1) ; PruningContainer().add_pruning_method(10)
global_unstructured([(linear, "weight")], prune.L1Unstructured, [1], amount=1)
"""


@cases("call", split(REFUSED))
def test_refused(call: str) -> None:
    def program(t: Any) -> None:
        linear = layer(t)
        try:
            evaluate(f"prune.{call}", prune=pruning(t), linear=linear)
        finally:
            assert sorted(linear._parameters) == ["bias", "weight"] and not linear._buffers

    refuse(program)


def test_saved_pickled_and_copied() -> None:
    def program(t: Any, x: Any) -> Any:
        model = t.nn.Sequential(layer(t), t.nn.ReLU())
        with t.no_grad():  # the product has no history, so the module can be copied
            pruning(t).l1_unstructured(model[0], "weight", 0.5)
        pickled, copied = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
        again = t.nn.Sequential(layer(t), t.nn.ReLU())
        pruning(t).identity(again[0], "weight")
        again.load_state_dict(model.state_dict())
        return [*parts(pickled[0]), *parts(copied[0]), *(linear(x).detach() for linear in (pickled, copied, again))]

    agree(program, numbers(2, 4), gradient=False)


def test_a_product_with_a_history_is_not_copied() -> None:
    refuse(lambda t: copy.deepcopy(pruning(t).identity(layer(t), "weight")))
