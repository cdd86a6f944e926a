import pytest

from orchestrator.client.forks import ForkRecord
from orchestrator.errors import RequestError


def test_a_fork_between_calls_leaves_grpc_working() -> None:
    forks = ForkRecord()
    with forks.record_call():
        pass
    forks.note_fork()
    forks.check()


def test_a_fork_during_a_call_ends_grpc_for_the_child_and_its_children() -> None:
    forks = ForkRecord()
    with forks.record_call():
        forks.note_fork()
    forks.note_fork()
    with pytest.raises(RequestError, match="forked while a thread was calling over gRPC"):
        forks.check()


def test_a_call_that_failed_is_over() -> None:
    forks = ForkRecord()
    with pytest.raises(ValueError, match="failed"), forks.record_call():
        raise ValueError("failed")
    forks.note_fork()
    forks.check()
