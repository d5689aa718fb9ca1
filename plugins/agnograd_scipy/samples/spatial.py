"""Samples of distances."""

from agnograd.extend import Sample, array
from agnograd_scipy.distance import METRICS

_vi = array(values=[[1.0, 0.2, 0.0], [0.2, 2.0, 0.1], [0.0, 0.1, 0.5]])

samples = [
    *(Sample("spatial.cdist", array(3, 4), array(2, 4), metric) for metric in METRICS[:5]),
    *(
        Sample("spatial.cdist", array(5, 3, low=0.2), array(4, 3, low=0.2), metric)
        for metric in METRICS[5:]
    ),
    Sample("spatial.cdist", array(3, 2, layout="transposed"), array(2, 2), "minkowski", p=3),
    Sample("spatial.cdist", array(2, 3), array(2, 3), "seuclidean", V=array(3, low=0.5)),
    Sample("spatial.cdist", array(2, 3), array(2, 3), "mahalanobis", VI=_vi),
    Sample("spatial.cdist", array(0, 3), array(2, 3)),
    Sample("spatial.cdist", array(2, 0), array(3, 0), order=0),
    *(Sample("spatial.pdist", array(5, 3, low=0.2), metric) for metric in METRICS),
    Sample("spatial.pdist", array(1, 3)),
]
