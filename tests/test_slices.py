"""Long searches in short slices."""

from formulakern.deadline import MAX_WORK, run_slices


class Counted:
    """A search of this many slices, each of which ends at once."""

    def __init__(self, n):
        self.n, self.asked = n, []

    def advance(self, work):
        self.asked.append(work)
        return len(self.asked) == self.n

    def share(self):
        return len(self.asked) / self.n


def test_work_stays_a_number_however_many_slices_are_short():
    search = Counted(5_000)
    assert run_slices(search, None)
    assert len(search.asked) == 5_000
    assert max(search.asked) == MAX_WORK < 2**63
    assert all(isinstance(work, int) for work in search.asked)


def test_progress_and_a_time_limit():
    shares = []
    search = Counted(3)
    assert run_slices(search, None, shares.append)
    assert shares == [1 / 3, 2 / 3, 1.0]
    search = Counted(3)
    assert not run_slices(search, 0.0)
    assert len(search.asked) == 1
