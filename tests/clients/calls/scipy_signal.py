"""SciPy, ``signal``: filters, spectra, systems, waveforms."""

import numpy as np

LIBRARY = "SciPy"
IMPORTS = ("scipy",)
INPUTS = {
    "x": np.asarray([np.sin(0.7 * k * k) + 0.3 * k for k in range(10)]),
    "y": np.asarray([np.cos(0.9 * k * k) + 0.2 * k for k in range(10)]),
    "h": np.asarray([0.5, 1.2, -0.4]),
    "long": np.asarray([np.sin(0.7 * k * k) + 0.3 * k for k in range(32)]),
    "other": np.asarray([np.cos(0.4 * k * k) + 0.1 * k for k in range(32)]),
    "A": np.asarray([np.sin(0.7 * k * k) for k in range(20)]).reshape(4, 5),
    "B": np.asarray([[0.3, -0.7], [1.1, 0.4]]),
    "t": np.asarray([0.13, 0.47, 0.81, 1.27]),
    "b": np.asarray([0.3, 0.5, 0.2]),
    "a": np.asarray([1.0, -0.4, 0.15]),
    "z": np.asarray([-0.3 + 0.2j, -0.3 - 0.2j]),
    "p": np.asarray([-0.5 + 0.6j, -0.5 - 0.6j]),
    "k": np.asarray(1.7),
    "sos": np.asarray([[0.3, 0.5, 0.2, -0.4, 0.15], [0.6, 0.1, 0.3, 0.2, 0.1]]),
    "w": np.asarray([0.4, 1.1, 2.3]),
    "F": np.asarray([[0.5, 0.2], [-0.3, 0.4]]),
    "zi": np.asarray([0.1, -0.2]),
}


def scope():
    """Return what the calls name."""
    from array_api_compat import array_namespace
    from scipy import signal

    def with_ones(sections):
        """Return second-order sections: SciPy wants the leading denominators to be exactly 1."""
        xp = array_namespace(sections)
        ones = xp.ones((sections.shape[0], 1), dtype=sections.dtype)
        return xp.concat([sections[:, :3], ones, sections[:, 3:]], axis=1)

    return {"signal": signal, "with_ones": with_ones}


CALLS = """
signal.detrend(x)
signal.detrend(x, type='constant')
signal.detrend(A, axis=0, type='constant')
signal.detrend(x, bp=[5])
signal.fftconvolve(x, h)
signal.fftconvolve(x, h, mode='same')
signal.fftconvolve(x, h, mode='valid')
signal.fftconvolve(A, B)
signal.fftconvolve(A, A, axes=1)
signal.oaconvolve(x, h)
signal.oaconvolve(long, h, mode='same')
signal.oaconvolve(long, h, mode='valid')
signal.oaconvolve(A, B)
signal.convolve(x, h)
signal.convolve(x, h, mode='same')
signal.convolve(x, h, mode='valid')
signal.convolve(x, h, method='fft')
signal.convolve(x, h, method='direct')
signal.correlate(x, h)
signal.correlate(x, h, method='fft')
signal.correlate(x, h, mode='same', method='fft')
signal.correlate(x, h, mode='valid', method='fft')
signal.convolve2d(A, B)
signal.convolve2d(A, B, boundary='wrap')
signal.correlate2d(A, B)
signal.sepfir2d(A, h, h)
signal.hilbert(x)
signal.hilbert(A, axis=0)
signal.hilbert(x, N=12)
signal.hilbert2(A)
signal.envelope(x)
signal.envelope(x, bp_in=(1, 4))
signal.envelope(x, residual='all')
signal.envelope(x, squared=True)
signal.vectorstrength(t, 0.7)
signal.wiener(x)
signal.wiener(x, 3, 0.5)
signal.wiener(A, (3, 3))
signal.medfilt(x, 3)
signal.medfilt2d(A, 3)
signal.order_filter(x, xp.asarray([1, 1, 1]), 1)
signal.savgol_filter(x, 5, 2)
signal.savgol_filter(x, 5, 2, deriv=1)
signal.savgol_filter(x, 5, 2, mode='constant')
signal.resample(x, 7)
signal.resample(x, 15)
signal.resample(x, 6, window='hamming')
signal.resample(x, 10, t=xp.arange(10) / 10)
signal.resample(A, 3, axis=1)
signal.resample_poly(x, 3, 2)
signal.decimate(long, 2)
signal.decimate(long, 2, ftype='fir')
signal.upfirdn(h, x, 2)
signal.lfilter(b, a, x)
signal.lfilter(b, 1.0, x)
signal.lfilter(b, a, x, zi=zi)
signal.lfilter_zi(b, a)
signal.filtfilt(b, a, long)
signal.sosfilt(with_ones(sos), x)
signal.sosfiltfilt(with_ones(sos), long)
signal.sosfilt_zi(with_ones(sos))
signal.deconvolve(x, h)
signal.freqz(b, a, worN=8)
signal.freqz(b, worN=8)
signal.freqz(b, a, worN=w)
signal.freqz(b, a, worN=8, whole=True)
signal.freqz(b, 1, worN=8, include_nyquist=True)
signal.freqz_zpk(z, p, k, worN=8)
signal.freqz_zpk(z, p, k, worN=w)
signal.freqz_sos(with_ones(sos), worN=8)
signal.freqz_sos(with_ones(sos), worN=w)
signal.sosfreqz(with_ones(sos), worN=8)
signal.freqs(b, a, worN=w)
signal.freqs_zpk(z, p, k, worN=w)
signal.group_delay((b, a), w=8)
xp.sum(signal.tf2zpk(b, a)[1] ** 3)
signal.tf2zpk(b, a)[2]
signal.tf2sos(b, a)
signal.zpk2tf(z, p, k)
signal.sos2tf(with_ones(sos))
xp.sum(signal.sos2zpk(with_ones(sos))[1] ** 3)
signal.tf2ss(b, a)
signal.ss2tf(F, zi[:, None], zi[None, :], k[None, None])
signal.normalize(b, a)
signal.lp2lp(b, a, 1.7)
signal.lp2hp(b, a, 1.7)
signal.lp2bp(b, a, 1.7, 0.6)
signal.lp2bs(b, a, 1.7, 0.6)
signal.lp2lp_zpk(z, p, k, wo=1.7)
signal.lp2hp_zpk(z, p, k, wo=1.7)
signal.lp2bp_zpk(z, p, k, wo=1.7, bw=0.6)
signal.lp2bs_zpk(z, p, k, wo=1.7, bw=0.6)
signal.bilinear(b, a, 2.0)
signal.bilinear_zpk(z, p, k, 2.0)
signal.residue(b, a)
signal.welch(long, nperseg=16)
signal.welch(long, nperseg=16, scaling='spectrum', detrend='linear')
signal.periodogram(long)
signal.periodogram(long, window='hann', scaling='spectrum')
signal.csd(long, other, nperseg=16)
signal.coherence(long, other, nperseg=8)
signal.spectrogram(long, nperseg=16)
signal.stft(long, nperseg=16)
signal.lombscargle(t, t * t, w)
signal.zoom_fft(x, 0.6, m=4)
signal.czt(x, 5)
signal.czt(A, axis=0)
signal.chirp(t, 0.5, 2.0, 3.0)
signal.chirp(t, 0.5, 2.0, 3.0, method='quadratic')
signal.chirp(t, 0.5, 2.0, 3.0, method='logarithmic')
signal.chirp(t, 0.5, 2.0, 3.0, method='hyperbolic')
signal.chirp(t, 0.5, 2.0, 3.0, complex=True)
signal.gausspulse(t, fc=2.0)
signal.gausspulse(t, fc=2.0, retquad=True, retenv=True)
signal.sawtooth(t)
signal.sawtooth(t, 0.3)
signal.square(t)
signal.sweep_poly(t, b)
signal.gauss_spline(t, 3)
signal.cspline1d(x)
signal.qspline1d(x)
signal.cspline1d_eval(x, t)
signal.qspline1d_eval(x, t)
signal.find_peaks(x, height=0.0)[1]['peak_heights']
signal.peak_prominences(x, xp.asarray([3]))
signal.cont2discrete((b, a), 0.1)
signal.impulse((b, a), T=w - w + xp.asarray([0.0, 0.5, 1.0]))
signal.symiirorder1(long, 0.5, 0.3)
signal.closest_STFT_dual_window(h, 1)
signal.ShortTimeFFT(h, 1, 1.0).stft(x)
signal.ShortTimeFFT(h, 1, 1.0).spectrogram(x)
"""
