"""What is made of the times that were measured."""

from benchmarks.measuring import Run


def test_a_ratio_is_of_the_times_of_one_round():
    slow_later = Run(rounds=[1.0, 2.0, 2.0])
    assert Run(rounds=[3.0, 3.0, 6.0]).over(slow_later) == 3.0  # that of the medians is 1.5
    assert slow_later.over(slow_later) == 1.0


def test_there_is_no_ratio_to_what_was_not_timed():
    timed, failed, too_fast = Run(rounds=[1.0]), Run(failed="no such op"), Run(rounds=[0.0])
    assert failed.over(timed) is None
    assert timed.over(failed) is None
    assert timed.over(too_fast) is None
