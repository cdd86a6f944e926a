import inspect

from orchestrator import errors


def test_every_error_is_in_the_tree_that_the_module_draws() -> None:
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass)]
    classes.remove(errors.ErrorResponse)
    assert all(issubclass(c, errors.PlateError) for c in classes)
    assert all(c.__name__ in errors.__doc__ for c in classes)
