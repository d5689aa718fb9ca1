"""Scikit-learn, estimators: scalers, decompositions, linear and other models, pipelines."""

import numpy as np

LIBRARY = "scikit-learn"
IMPORTS = ("sklearn",)
INPUTS = {
    "X": np.asarray([np.sin(1.0 + k * k) + 0.1 * k for k in range(24)]).reshape(8, 3),
    "G": np.asarray([np.sin(1.0 + k * k) + 0.1 * k for k in range(12)]).reshape(6, 2),
    "H": np.asarray([[0.4, -0.2], [1.1, 0.3]]),
    "T": np.asarray([[0.4, -0.2, 0.9], [1.1, 0.3, -0.6]]),
    "y": np.asarray([1.3, 0.4, 2.2, 1.7, 0.9, 3.1, 2.6, 0.65]),
    "Y": np.asarray([np.cos(1.0 + k * k) for k in range(16)]).reshape(8, 2),
    "w": np.asarray([1.5, 0.5, 2.0, 1.0, 0.75, 1.25, 0.9, 1.6]),
    "labels": np.asarray([0, 1, 1, 0, 1, 0, 2, 2]),
    "two": np.asarray([0, 1, 1, 0, 1, 0, 1, 0]),
    "positive": np.asarray([[0.4, 1.2, 0.9], [1.1, 0.3, 0.6], [0.2, 0.8, 1.4]]),
    "K": np.asarray([[2.0, 0.3, 0.5], [0.3, 1.5, 0.2], [0.5, 0.2, 1.8]]),
}


def scope():
    """Return what the calls name."""
    import sklearn
    from sklearn import (
        calibration,
        covariance,
        decomposition,
        discriminant_analysis,
        feature_selection,
        impute,
        kernel_approximation,
        linear_model,
        mixture,
        model_selection,
        naive_bayes,
        pipeline,
        preprocessing,
        random_projection,
        utils,
    )
    from sklearn.utils import extmath

    sklearn.set_config(array_api_dispatch=True)
    modules = (calibration, covariance, decomposition, discriminant_analysis, feature_selection)
    modules += (impute, kernel_approximation, linear_model, mixture, model_selection, naive_bayes)
    modules += (pipeline, preprocessing, random_projection, utils, extmath)
    return {module.__name__.rpartition(".")[2]: module for module in modules}


CALLS = """
preprocessing.StandardScaler().fit_transform(X)
preprocessing.StandardScaler(with_mean=False).fit_transform(X)
preprocessing.StandardScaler(with_std=False).fit_transform(X)
preprocessing.StandardScaler().fit(X, sample_weight=w).transform(T)
preprocessing.StandardScaler().fit(X).inverse_transform(T)
preprocessing.StandardScaler().fit(X).var_
preprocessing.MinMaxScaler().fit_transform(X)
preprocessing.MinMaxScaler(feature_range=(-1, 2)).fit(X).transform(T)
preprocessing.MinMaxScaler(clip=True).fit(X).inverse_transform(T)
preprocessing.MaxAbsScaler().fit_transform(X)
preprocessing.MaxAbsScaler().fit(X).inverse_transform(T)
preprocessing.RobustScaler().fit_transform(X)
preprocessing.Normalizer().fit_transform(X)
preprocessing.Normalizer(norm='l1').fit_transform(X)
preprocessing.Normalizer(norm='max').fit_transform(X)
preprocessing.Binarizer(threshold=0.2).fit_transform(X)
preprocessing.KernelCenterer().fit_transform(K)
preprocessing.KernelCenterer().fit(K).transform(K[:2, :])
preprocessing.PolynomialFeatures(degree=2).fit_transform(T)
preprocessing.PolynomialFeatures(degree=3, interaction_only=True).fit_transform(T)
preprocessing.PolynomialFeatures(degree=2, include_bias=False).fit_transform(T)
preprocessing.FunctionTransformer(lambda a: xp.exp(a)).fit_transform(T)
preprocessing.FunctionTransformer(lambda a: xp.exp(a), inverse_func=lambda a: xp.log(a), check_inverse=False).fit(X).inverse_transform(positive)
preprocessing.PowerTransformer().fit_transform(X)
preprocessing.QuantileTransformer(n_quantiles=5).fit_transform(X)
preprocessing.SplineTransformer(n_knots=3).fit_transform(X)
preprocessing.KBinsDiscretizer(n_bins=2, encode='ordinal').fit_transform(X)
preprocessing.scale(X)
preprocessing.minmax_scale(X)
preprocessing.maxabs_scale(X)
preprocessing.robust_scale(X)
preprocessing.normalize(X)
preprocessing.normalize(X, norm='l1', axis=0)
preprocessing.normalize(X, norm='max')
preprocessing.normalize(X, return_norm=True)
preprocessing.binarize(X, threshold=0.2)
preprocessing.add_dummy_feature(T)
preprocessing.power_transform(X)
preprocessing.quantile_transform(X, n_quantiles=5)
decomposition.PCA(n_components=2, svd_solver='full').fit_transform(X)
decomposition.PCA(n_components=2, svd_solver='full', whiten=True).fit_transform(X)
decomposition.PCA(n_components=2, svd_solver='full').fit(X).explained_variance_
decomposition.PCA(n_components=2, svd_solver='full').fit(X).explained_variance_ratio_
decomposition.PCA(n_components=2, svd_solver='full').fit(X).components_
decomposition.PCA(n_components=2, svd_solver='full').fit(X).transform(T)
decomposition.PCA(n_components=2, svd_solver='full').fit(X).inverse_transform(T[:, :2])
decomposition.PCA(n_components=2, svd_solver='full').fit(X).score_samples(T)
decomposition.PCA(n_components=2, svd_solver='full').fit(X).score(T)
decomposition.PCA(n_components=2, svd_solver='full').fit(X).get_covariance()
decomposition.PCA(n_components=2, svd_solver='full').fit(X).get_precision()
decomposition.PCA(n_components=2, svd_solver='covariance_eigh').fit_transform(X)
decomposition.PCA(n_components=2, svd_solver='covariance_eigh').fit(X).explained_variance_
decomposition.PCA(n_components=2, svd_solver='covariance_eigh', whiten=True).fit(X).transform(T)
decomposition.PCA(n_components=2, svd_solver='randomized', random_state=0).fit_transform(X)
decomposition.PCA(n_components=2, svd_solver='randomized', power_iteration_normalizer='QR', random_state=0).fit(X).explained_variance_
decomposition.PCA(n_components=0.8, svd_solver='full').fit_transform(X)
decomposition.IncrementalPCA(n_components=2).fit_transform(X)
decomposition.TruncatedSVD(n_components=2, random_state=0).fit_transform(X)
decomposition.FactorAnalysis(n_components=2, random_state=0).fit_transform(X)
decomposition.FastICA(n_components=2, random_state=0).fit_transform(X)
decomposition.KernelPCA(n_components=2, kernel='rbf').fit_transform(X)
decomposition.NMF(n_components=2, random_state=0).fit_transform(positive)
linear_model.Ridge(solver='svd').fit(X, y).coef_
linear_model.Ridge(solver='svd').fit(X, y).intercept_
linear_model.Ridge(solver='svd').fit(X, y).predict(T)
linear_model.Ridge(solver='svd', fit_intercept=False).fit(X, y).coef_
linear_model.Ridge(solver='svd', alpha=0.3).fit(X, y, sample_weight=w).coef_
linear_model.Ridge(solver='svd').fit(X, Y).coef_
linear_model.Ridge(solver='svd').fit(X, y).score(X, y)
linear_model.Ridge().fit(X, y).coef_
linear_model.Ridge(solver='cholesky').fit(X, y).coef_
linear_model.RidgeCV(alphas=(0.1, 1.0)).fit(X, y).coef_
linear_model.RidgeCV(alphas=(0.1, 1.0)).fit(X, y).predict(T)
linear_model.RidgeCV(alphas=(0.1, 1.0), gcv_mode='eigen').fit(X, Y).coef_
linear_model.RidgeClassifier(solver='svd').fit(X, two).coef_
linear_model.RidgeClassifier(solver='svd').fit(X, labels).decision_function(T)
linear_model.RidgeClassifierCV(alphas=(0.1, 1.0)).fit(X, two).decision_function(T)
linear_model.LinearRegression().fit(X, y).coef_
linear_model.LogisticRegression(solver='lbfgs').fit(X, two).coef_
linear_model.LogisticRegression(solver='lbfgs').fit(X, labels).predict_proba(T)
linear_model.PoissonRegressor().fit(X, y).coef_
linear_model.Lasso(alpha=0.1).fit(X, y).coef_
linear_model.ElasticNet(alpha=0.1).fit(X, y).coef_
linear_model.BayesianRidge().fit(X, y).coef_
linear_model.HuberRegressor().fit(X, y).coef_
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).coef_
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).transform(T)
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).decision_function(T)
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).predict_proba(T)
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).predict_log_proba(T)
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, two).predict_proba(T)
discriminant_analysis.LinearDiscriminantAnalysis().fit(X, labels).explained_variance_ratio_
discriminant_analysis.LinearDiscriminantAnalysis(solver='eigen').fit(X, labels).coef_
discriminant_analysis.LinearDiscriminantAnalysis(solver='lsqr').fit(X, labels).coef_
discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, two).predict_proba(T)
naive_bayes.GaussianNB().fit(X, labels).predict_proba(T)
naive_bayes.GaussianNB().fit(X, labels).predict_log_proba(T)
naive_bayes.GaussianNB().fit(X, labels).predict_joint_log_proba(T)
naive_bayes.GaussianNB().fit(X, labels).var_
naive_bayes.GaussianNB().fit(X, labels).theta_
naive_bayes.GaussianNB().fit(X, labels, sample_weight=w).predict_proba(T)
naive_bayes.GaussianNB().partial_fit(X, labels, classes=xp.asarray([0, 1, 2])).predict_proba(T)
naive_bayes.MultinomialNB().fit(positive, xp.asarray([0, 1, 1])).predict_proba(positive)
mixture.GaussianMixture(2, init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).means_
mixture.GaussianMixture(2, init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).score_samples(H)
mixture.GaussianMixture(2, init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).predict_proba(H)
mixture.GaussianMixture(2, init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).bic(H)
mixture.GaussianMixture(2, init_params='random_from_data', random_state=0, max_iter=3, tol=0.0).fit(G).weights_
mixture.GaussianMixture(2, covariance_type='diag', init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).covariances_
mixture.GaussianMixture(2, covariance_type='tied', init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).score_samples(H)
mixture.GaussianMixture(2, covariance_type='spherical', init_params='random', random_state=0, max_iter=3, tol=0.0).fit(G).score(H)
covariance.empirical_covariance(X)
covariance.ledoit_wolf(X)
covariance.oas(X)
covariance.EmpiricalCovariance().fit(X).mahalanobis(T)
covariance.ShrunkCovariance().fit(X).covariance_
covariance.shrunk_covariance(K)
covariance.log_likelihood(K, K)
kernel_approximation.Nystroem(n_components=3, random_state=0).fit_transform(X)
kernel_approximation.Nystroem(n_components=3, kernel='polynomial', degree=2, random_state=0).fit(X).transform(T)
kernel_approximation.RBFSampler(n_components=3, random_state=0).fit_transform(X)
kernel_approximation.AdditiveChi2Sampler().fit_transform(positive)
random_projection.GaussianRandomProjection(2, random_state=0).fit_transform(X)
feature_selection.f_classif(X, labels)
feature_selection.f_regression(X, y)
feature_selection.r_regression(X, y)
feature_selection.chi2(positive, xp.asarray([0, 1, 1]))
feature_selection.VarianceThreshold(0.1).fit_transform(X)
feature_selection.SelectKBest(k=2).fit_transform(X, labels)
impute.SimpleImputer().fit_transform(X)
calibration.CalibratedClassifierCV(linear_model.RidgeClassifier(solver='svd'), method='temperature', cv=2).fit(X, two).predict_proba(T)
pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge(solver='svd')).fit(X, y).predict(T)
pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(n_components=2, svd_solver='full')).fit_transform(X)
pipeline.make_pipeline(preprocessing.MinMaxScaler(), discriminant_analysis.LinearDiscriminantAnalysis()).fit(X, labels).predict_proba(T)
pipeline.make_pipeline(preprocessing.StandardScaler(), naive_bayes.GaussianNB()).fit(X, labels).predict_proba(T)
pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.Ridge(solver='svd')).fit(X, y).predict(T)
pipeline.make_union(preprocessing.StandardScaler(), preprocessing.MinMaxScaler()).fit_transform(X)
pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(n_components=2, svd_solver='full'), linear_model.Ridge(solver='svd')).fit(X, y).score(X, y)
model_selection.train_test_split(X, y, test_size=0.5, random_state=0)
model_selection.cross_val_predict(linear_model.Ridge(solver='svd'), X, y, cv=2)
model_selection.cross_val_score(linear_model.Ridge(solver='svd'), X, y, cv=2)
model_selection.cross_validate(linear_model.Ridge(solver='svd'), X, y, cv=2)['test_score']
model_selection.GridSearchCV(linear_model.Ridge(solver='svd'), {'alpha': [0.1, 1.0]}, cv=2).fit(X, y).predict(T)
utils.check_array(X)
utils.check_X_y(X, y)[0]
utils.resample(X, random_state=0)
utils.shuffle(X, random_state=0)
extmath.row_norms(X)
extmath.row_norms(X, squared=True)
extmath.softmax(X)
extmath.svd_flip(K, K)
extmath.randomized_svd(X, 2, random_state=0)
extmath.randomized_range_finder(X, size=2, n_iter=2, power_iteration_normalizer='QR', random_state=0)
extmath.safe_sparse_dot(X, K)
extmath.fast_logdet(K)
extmath.weighted_mode(X, X)
extmath.cartesian((y, w))
"""
