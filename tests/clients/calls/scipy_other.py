"""SciPy, more: ``spatial``, ``cluster``, ``ndimage``, ``linalg``, ``constants``, ``sparse``."""

import numpy as np

LIBRARY = "SciPy"
IMPORTS = ("scipy",)
INPUTS = {
    "q": np.asarray([0.3, -0.4, 0.5, 0.7]),
    "r": np.asarray([[0.6, 0.1, -0.3, 0.7], [0.2, 0.5, 0.4, -0.6]]),
    "v": np.asarray([0.4, -1.2, 0.9]),
    "w": np.asarray([0.7, 0.3, -0.5]),
    "V": np.asarray([[0.4, -1.2, 0.9], [1.1, 0.3, -0.6], [0.2, 0.8, 1.4]]),
    "W": np.asarray([[0.5, -1.0, 0.7], [0.9, 0.5, -0.4], [0.1, 1.0, 1.2]]),
    "s": np.asarray(0.4),
    "M": np.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]),
    "N": np.asarray([[1.2, -0.4, 0.3], [0.7, 2.1, -0.6], [-0.2, 0.5, 1.7]]),
    "b": np.asarray([0.6, -0.3, 1.1]),
    "X": np.asarray([[0.1, 0.2], [0.25, 0.05], [2.1, 1.9], [1.8, 2.2], [0.3, 0.3]]),
    "image": np.asarray([np.sin(0.7 * k * k) for k in range(20)]).reshape(4, 5),
    "temperature": np.asarray([12.0, 25.5]),
    "T": np.asarray([[0.1, -1.0, 0.0, 0.3], [1.0, 0.1, 0.0, -0.2], [0.0, 0.2, 1.0, 0.7]]),
}


def scope():
    """Return what the calls name."""
    from scipy import cluster, constants, linalg, ndimage, sparse, spatial
    from scipy.cluster import hierarchy, vq
    from scipy.spatial import distance
    from scipy.spatial.transform import RigidTransform, Rotation, Slerp

    modules = {"cluster": cluster, "constants": constants, "linalg": linalg, "ndimage": ndimage}
    modules |= {"sparse": sparse, "spatial": spatial, "distance": distance}
    classes = {"RigidTransform": RigidTransform, "Rotation": Rotation, "Slerp": Slerp}
    return modules | classes | {"hierarchy": hierarchy, "vq": vq}


CALLS = """
Rotation.from_quat(q).as_quat()
Rotation.from_quat(q).as_quat(canonical=True)
Rotation.from_quat(q, scalar_first=True).as_matrix()
Rotation.from_quat(r).as_matrix()
Rotation.from_quat(q).as_rotvec()
Rotation.from_quat(q).as_rotvec(degrees=True)
Rotation.from_quat(q).as_mrp()
Rotation.from_quat(q).as_euler('xyz')
Rotation.from_quat(r).as_euler('ZYX', degrees=True)
Rotation.from_quat(q).as_euler('zxz')
Rotation.from_quat(q).as_davenport([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], 'extrinsic')
Rotation.from_quat(q).magnitude()
Rotation.from_quat(q).inv().as_quat()
Rotation.from_quat(q).apply(V)
Rotation.from_quat(q).apply(V, inverse=True)
Rotation.from_quat(r).apply(v)
(Rotation.from_quat(q) * Rotation.from_rotvec(v)).as_matrix()
(Rotation.from_quat(q) ** 2).as_quat()
(Rotation.from_quat(q) ** 0.5).as_quat()
Rotation.from_quat(r)[0].as_matrix()
Rotation.from_quat(r).mean().as_quat(canonical=True)
Rotation.from_quat(r).mean(weights=xp.asarray([0.3, 0.7], dtype=xp.float64)).as_matrix()
Rotation.concatenate([Rotation.from_quat(q), Rotation.from_rotvec(v)]).as_matrix()
Rotation.from_matrix(N).as_quat()
Rotation.from_matrix(N, assume_valid=True).as_rotvec()
Rotation.from_rotvec(v).as_matrix()
Rotation.from_rotvec(v, degrees=True).as_quat()
Rotation.from_rotvec(V).as_quat()
Rotation.from_mrp(w).as_matrix()
Rotation.from_mrp(V).as_quat()
Rotation.from_euler('xyz', v).as_matrix()
Rotation.from_euler('ZXZ', V, degrees=True).as_quat()
Rotation.from_euler('z', s).as_matrix()
Rotation.from_davenport(xp.eye(3, dtype=xp.float64), 'extrinsic', v).as_matrix()
Rotation.align_vectors(V, W)[0].as_matrix()
Rotation.align_vectors(V, W)[1]
Slerp([0.0, 1.0], Rotation.from_quat(r))([0.3]).as_matrix()
RigidTransform.from_matrix(xp.concat([T, xp.asarray([[0.0, 0.0, 0.0, 1.0]], dtype=xp.float64)])).as_matrix()
RigidTransform.from_translation(v).as_matrix()
RigidTransform.from_rotation(Rotation.from_rotvec(v)).as_matrix()
RigidTransform.from_components(v, Rotation.from_quat(q)).as_matrix()
RigidTransform.from_components(v, Rotation.from_quat(q)).inv().as_matrix()
RigidTransform.from_components(v, Rotation.from_quat(q)).apply(V)
RigidTransform.from_components(v, Rotation.from_quat(q)).as_exp_coords()
RigidTransform.from_components(v, Rotation.from_quat(q)).as_dual_quat()
RigidTransform.from_components(v, Rotation.from_quat(q)).translation
(RigidTransform.from_translation(v) * RigidTransform.from_rotation(Rotation.from_quat(q))).as_matrix()
(RigidTransform.from_components(v, Rotation.from_quat(q)) ** 2).as_matrix()
(RigidTransform.from_components(v, Rotation.from_quat(q)) ** 0.5).as_matrix()
RigidTransform.from_exp_coords(xp.concat([v, w])).as_matrix()
RigidTransform.from_dual_quat(xp.concat([q, xp.zeros_like(q)])).as_matrix()
RigidTransform.concatenate([RigidTransform.from_translation(v), RigidTransform.from_translation(w)]).as_matrix()
spatial.geometric_slerp(v / xp.linalg.vector_norm(v), w / xp.linalg.vector_norm(w), [0.2, 0.7])
spatial.procrustes(V, W)[2]
spatial.KDTree(V).query(W)
spatial.ConvexHull(X).volume
distance.cdist(V, W)
distance.pdist(V)
distance.squareform(v)
distance.euclidean(v, w)
distance.sqeuclidean(v, w)
distance.cosine(v, w)
distance.correlation(v, w)
distance.cityblock(v, w)
distance.minkowski(v, w, 3)
distance.canberra(v, w)
distance.mahalanobis(v, w, M)
vq.whiten(X)
vq.vq(X, X[:2, :])
vq.kmeans(X, X[:2, :])
vq.kmeans2(X, X[:2, :], minit='matrix')
hierarchy.linkage(X, 'single')
hierarchy.linkage(X, 'ward')
hierarchy.cophenet(hierarchy.linkage(X))
hierarchy.inconsistent(hierarchy.linkage(X))
ndimage.gaussian_filter(image, 1.0)
ndimage.gaussian_filter1d(image, 1.0)
ndimage.uniform_filter(image, 3)
ndimage.convolve(image, M)
ndimage.convolve1d(image, v)
ndimage.correlate(image, M)
ndimage.correlate1d(image, v)
ndimage.laplace(image)
ndimage.gaussian_laplace(image, 1.0)
ndimage.gaussian_gradient_magnitude(image, 1.0)
ndimage.sobel(image)
ndimage.prewitt(image)
ndimage.median_filter(image, 3)
ndimage.maximum_filter(image, 3)
ndimage.shift(image, 0.5)
ndimage.zoom(image, 1.5)
ndimage.rotate(image, 20.0)
ndimage.affine_transform(image, xp.asarray([[1.0, 0.1], [0.0, 1.0]]))
ndimage.map_coordinates(image, xp.asarray([[0.5, 1.5], [1.2, 2.3]]))
ndimage.spline_filter(image)
ndimage.fourier_gaussian(image, 1.0)
ndimage.fourier_shift(image, 0.5)
ndimage.mean(image)
ndimage.variance(image)
ndimage.center_of_mass(image)
ndimage.sum_labels(image)
ndimage.vectorized_filter(image, function=xp.mean, size=(2, 2))
linalg.det(N)
linalg.inv(N)
linalg.solve(N, b)
linalg.solve_triangular(N, b)
linalg.cholesky(M)
linalg.cho_solve((M, True), b)
linalg.eigh(M)
linalg.eigvalsh(M)
linalg.svd(N)
linalg.svdvals(N)
linalg.qr(N)
linalg.lu(N)
linalg.lstsq(N, b)[0]
linalg.pinv(N)
linalg.norm(N)
linalg.expm(N)
linalg.logm(M)
linalg.sqrtm(M)
linalg.fractional_matrix_power(M, 0.5)
linalg.cosm(N)
linalg.sinm(N)
linalg.polar(N)[0]
linalg.toeplitz(v, w)
linalg.circulant(v)
linalg.hankel(v)
linalg.companion(v)
linalg.khatri_rao(V, W)
linalg.block_diag(M, N)
linalg.leslie(v, w[:2])
linalg.solve_toeplitz(v + 3.0, b)
linalg.solve_sylvester(M, N, V)
linalg.solve_continuous_lyapunov(N, M)
linalg.matrix_balance(N)
constants.convert_temperature(temperature, 'Celsius', 'Kelvin')
constants.convert_temperature(temperature, 'C', 'F')
constants.convert_temperature(temperature, 'F', 'R')
constants.convert_temperature(temperature, 'R', 'C')
constants.convert_temperature(temperature, 'K', 'F')
constants.lambda2nu(temperature)
constants.nu2lambda(temperature)
sparse.csr_array(M) @ v
sparse.linalg.cg(M, b)[0]
sparse.linalg.expm_multiply(N, b)
sparse.linalg.aslinearoperator(N) @ v
"""
