"""Scikit-learn, metrics: of regression, of classification, and pairwise functions."""

import numpy as np

LIBRARY = "scikit-learn"
IMPORTS = ("sklearn",)
INPUTS = {
    "y": np.asarray([1.3, 0.4, 2.2, 1.7, 0.9]),
    "z": np.asarray([0.8, 0.9, 1.9, 2.1, 0.5]),
    "Y": np.asarray([[1.3, 0.4], [2.2, 1.7], [0.9, 3.1]]),
    "Z": np.asarray([[0.8, 0.9], [1.9, 2.3], [0.5, 2.4]]),
    "w": np.asarray([0.5, 1.5, 1.0, 2.0, 0.75]),
    "X": np.asarray([[0.4, 1.2, 0.9], [1.1, 0.3, 0.6], [0.2, 0.8, 1.4], [1.7, 0.5, 0.35]]),
    "W": np.asarray([[0.5, 1.0, 0.7], [0.9, 0.55, 0.4], [0.1, 1.0, 1.2]]),
    "V": np.asarray([[0.7, 0.95, 0.3], [0.25, 0.6, 1.3], [1.6, 0.15, 0.8]]),
    "labels": np.asarray([0, 1, 1, 0, 1]),
    "guess": np.asarray([0, 1, 0, 0, 1]),
    "weights": np.asarray([0.5, 1.5, 1.0, 2.0, 0.75]),
    "score": np.asarray([0.2, 0.7, 0.4, 0.55, 0.9]),
    "P": np.asarray([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6], [0.7, 0.2, 0.1]]),
    "three": np.asarray([0, 1, 2, 0]),
    "groups": np.asarray([0, 0, 1, 1]),
    "M": np.asarray([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]]),
}


def scope():
    """Return what the calls name."""
    import sklearn
    from sklearn import metrics
    from sklearn.metrics import pairwise

    sklearn.set_config(array_api_dispatch=True)
    return {"metrics": metrics, "pairwise": pairwise}


CALLS = """
metrics.mean_squared_error(y, z)
metrics.mean_squared_error(y, z, sample_weight=w)
metrics.mean_squared_error(Y, Z, multioutput='raw_values')
metrics.root_mean_squared_error(y, z)
metrics.root_mean_squared_error(Y, Z, multioutput='raw_values')
metrics.mean_absolute_error(y, z)
metrics.mean_absolute_error(y, z, sample_weight=w)
metrics.mean_absolute_error(Y, Z, multioutput=[0.3, 0.7])
metrics.mean_absolute_percentage_error(y, z)
metrics.mean_absolute_percentage_error(Y, Z, multioutput='raw_values')
metrics.mean_squared_log_error(y, z)
metrics.mean_squared_log_error(y, z, sample_weight=w)
metrics.root_mean_squared_log_error(y, z)
metrics.median_absolute_error(y, z)
metrics.median_absolute_error(y, z, sample_weight=w)
metrics.max_error(y, z)
metrics.r2_score(y, z)
metrics.r2_score(y, z, sample_weight=w)
metrics.r2_score(Y, Z, multioutput='variance_weighted')
metrics.r2_score(Y, Z, multioutput='raw_values')
metrics.explained_variance_score(y, z)
metrics.explained_variance_score(Y, Z, multioutput='variance_weighted')
metrics.mean_pinball_loss(y, z, alpha=0.3)
metrics.mean_pinball_loss(y, z, alpha=0.3, sample_weight=w)
metrics.mean_tweedie_deviance(y, z)
metrics.mean_tweedie_deviance(y, z, power=1.5)
metrics.mean_tweedie_deviance(y, z, power=-1)
metrics.mean_tweedie_deviance(y, z, power=3)
metrics.mean_poisson_deviance(y, z)
metrics.mean_gamma_deviance(y, z)
metrics.d2_tweedie_score(y, z)
metrics.d2_tweedie_score(y, z, power=1)
metrics.d2_pinball_score(y, z, alpha=0.3)
metrics.d2_absolute_error_score(y, z)
metrics.d2_brier_score(labels, score)
metrics.d2_log_loss_score(labels, score)
metrics.log_loss(labels, score)
metrics.log_loss(three, P)
metrics.log_loss(three, P, normalize=False, sample_weight=w[:4])
metrics.brier_score_loss(labels, score)
metrics.brier_score_loss(labels, score, sample_weight=w)
metrics.brier_score_loss(three, P)
metrics.hinge_loss(labels, z)
metrics.zero_one_loss(labels, guess, sample_weight=w)
metrics.hamming_loss(labels, guess, sample_weight=w)
metrics.accuracy_score(labels, guess, sample_weight=w)
metrics.balanced_accuracy_score(labels, guess, sample_weight=w)
metrics.f1_score(labels, guess, sample_weight=w)
metrics.f1_score(labels, guess, sample_weight=w, average='macro')
metrics.fbeta_score(labels, guess, beta=0.5, sample_weight=w)
metrics.precision_score(labels, guess, sample_weight=w)
metrics.recall_score(labels, guess, sample_weight=w)
metrics.jaccard_score(labels, guess, sample_weight=w)
metrics.precision_recall_fscore_support(labels, guess, sample_weight=w)
metrics.multilabel_confusion_matrix(labels, guess, sample_weight=w)
metrics.confusion_matrix(labels, guess, sample_weight=w)
metrics.confusion_matrix(labels, guess, sample_weight=w, normalize='true')
metrics.matthews_corrcoef(labels, guess, sample_weight=w)
metrics.cohen_kappa_score(labels, guess, sample_weight=w)
metrics.class_likelihood_ratios(labels, guess, sample_weight=w)
metrics.roc_curve(labels, score)
metrics.roc_curve(labels, score, sample_weight=w)
metrics.det_curve(labels, score)
metrics.precision_recall_curve(labels, score)
metrics.roc_auc_score(labels, score)
metrics.roc_auc_score(labels, score, sample_weight=w)
metrics.average_precision_score(labels, score)
metrics.average_precision_score(labels, score, sample_weight=w)
metrics.auc(xp.cumulative_sum(y), z)
metrics.dcg_score(Y, Z)
metrics.ndcg_score(Y, Z)
metrics.top_k_accuracy_score(three, xp.flip(P, axis=1), k=1, sample_weight=w[:4])
metrics.label_ranking_loss([[1, 0], [0, 1], [1, 0]], Z)
metrics.coverage_error([[1, 0], [0, 1], [1, 0]], Z)
metrics.silhouette_score(X, groups)
metrics.silhouette_samples(X, groups)
metrics.calinski_harabasz_score(X, groups)
metrics.davies_bouldin_score(X, groups)
pairwise.euclidean_distances(X)
pairwise.euclidean_distances(X, W)
pairwise.euclidean_distances(X, W, squared=True)
pairwise.nan_euclidean_distances(X, W)
pairwise.cosine_similarity(X)
pairwise.cosine_similarity(X, W)
pairwise.cosine_distances(X, W)
pairwise.linear_kernel(X, W)
pairwise.polynomial_kernel(X, W)
pairwise.polynomial_kernel(X, degree=2, gamma=0.4, coef0=0.3)
pairwise.sigmoid_kernel(X, W)
pairwise.rbf_kernel(X, W)
pairwise.rbf_kernel(X, gamma=0.7)
pairwise.laplacian_kernel(X, W)
pairwise.laplacian_kernel(X, W, gamma=0.7)
pairwise.chi2_kernel(X, W)
pairwise.additive_chi2_kernel(X, W)
pairwise.manhattan_distances(X, W)
pairwise.haversine_distances(X[:, :2], W[:, :2])
pairwise.paired_euclidean_distances(W, V)
pairwise.paired_cosine_distances(W, V)
pairwise.paired_manhattan_distances(W, V)
pairwise.paired_distances(W, V, metric='cosine')
pairwise.paired_distances(W, V, metric='euclidean')
metrics.pairwise_distances(X, W)
metrics.pairwise_distances(X, W, metric='cosine')
metrics.pairwise_distances(X, W, metric='manhattan')
metrics.pairwise_distances(X, W, metric='chebyshev')
metrics.pairwise_distances_argmin_min(X, W)[1]
metrics.pairwise.pairwise_kernels(X, W)
metrics.pairwise.pairwise_kernels(X, W, metric='rbf', gamma=0.3)
metrics.pairwise.pairwise_kernels(X, W, metric='cosine')
metrics.pairwise.pairwise_kernels(X, W, metric='poly', degree=2)
"""
