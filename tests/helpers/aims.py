"""Statements of random programs that aim at what compiling rewrites: see ``rewrites``.

Each aim is a block of statements, the last of which begins with ``=`` and gives what a program goes
on with. An aim whose name ends in ``*2`` is drawn twice as often as others. ``$x`` is a variable of
the block's own, ``{name}`` a slot that is filled by a method of ``Aimed`` or from the choices, and
``{one ; other}`` one of several texts.
"""

import re

from slots import Slots

AIMS = """
the same twice
    $a = {v}
    $b = {w}
    = xp.sin($a + $b) * xp.cos($a * $b) + xp.sin($b + $a) / (2.0 + xp.cos($b * $a))

guards, one of which is the same
    $a = {s}
    $b = $a * 1.5 if {$a > -2.0 ; $a.item() < 2.0} else -$a
    $b = $b + 0.5 if {$a > -2.0 ; $a.item() < 2.0} else $b
    = {v} * ($b if {$a > -2.0 ; $a.item() < 2.0} else 1.0)
guards
    $a = {s}
    $b = $a * 1.5 if {$a > -2.0 ; $a.item() < 2.0 ; int(($a * 3.0).item()) < 9 ; bool($a < 2.0)} else -$a
    $b = $b + 0.5 if {$a > -2.0 ; $a.item() < 2.0 ; xp.sum(xp.asarray([0.5, 1.5])) > 1.0} else $b
    = $b * {v}

identities: arguments
    = {+ ; 1 * ; 1.0 * } {v} {/ 1 ; * 1 ; * 1.0 ; ** 1 ; - 0 ; / 1.0 ; - 0.0 ; ** 1.0}
identities: the same again *2
    $v = {v}
    $w = {xp.astype($v, $v.dtype) ; xp.real($v)} * 0.7 - {1 * $v ; $v - 0 ; $v / 1}
    = $w + {xp.conj($v) ; xp.squeeze($v, axis=()) ; xp.positive($v)} * {xp.broadcast_to($v, $v.shape) ; xp.real($v)}
identities: negatives
    $a = {v}
    $b = {alike}
    = {-(-$a) ; (-$a) * (-$b) ; (-$a) + $b ; $a + (-$b) ; $a - (-$b) ; xp.abs(-$a) ; xp.abs(xp.abs($a)) ; -xp.negative($a)}
identities: negatives again *2
    $a = {v}
    $b = 0.5 * {alike}
    = ({-(-$a) ; (-$a) * (-$b) ; xp.abs(-$b) ; xp.abs(xp.abs($a))}) + ({(-$a) + $b ; $a + (-$b) ; $a - (-$b)})
identities: shapes *3
    $m = {m}
    $t = {$m.mT.mT ; xp.permute_dims(xp.permute_dims($m, {flip}), {flip}) ; xp.permute_dims($m, {same_axes}) ; xp.broadcast_to($m, $m.shape)}
    $u = xp.reshape(xp.reshape(xp.cos($t), (-1,)), ({-1, 1 ; 1, -1 ; -1,}))
    $w = xp.broadcast_to(xp.broadcast_to($u, (1, *$u.shape)), (2, *$u.shape))
    = xp.reshape($w, $w.shape) * 0.5
identities: keys
    $v = {n}
    $s = xp.stack([xp.sin($v), xp.cos($v), 0.5 * $v])
    = $s[{0 ; 1 ; 2}] * $v[...] + {$v[...] ; $s[{0 ; 1 ; 2}, ...] ; xp.flip(xp.flip($v))}
identities: what was written
    $r = 1.0 * {r}
    $r[{0 ; -1 ; 0, ... ; ...}] = {0.4 * $r[{0 ; -1}] ; xp.sin($r[0])}
    $k = {0 ; -1}
    $r[$k] = xp.cos($r[$k]) * 0.5
    $p = $r[$k]
    = $r * xp.sum(xp.cos($p))
identities: a condition that stays *2
    = xp.where(xp.asarray({True ; False}), {v}, {same} * 0.5) + xp.where(xp.asarray({True ; False}), xp.sin({same}), {same})

uniform: filled *2
    $v = {n}
    $f = {xp.ones_like($v) ; xp.zeros_like($v) ; xp.full_like($v, 0.75) ; $v ** 0 ; xp.ones($v.shape, dtype=$v.dtype) ; xp.full_like($v, -0.0)}
    $g = {$f ; xp.reshape($f, $f.shape) ; xp.broadcast_to($f, (1, *$f.shape)) ; xp.flip($f) ; xp.astype($f, xp.float64) ; -$f ; 2.0 * $f + 1.0}
    = {$v * $g + xp.sin($v) * $f ; $v + $g ; xp.maximum($v, $f) - $g ; xp.where($v > $f, $v, $g)}
uniform: one number
    $v = {n}
    $s = {s}
    $f = xp.broadcast_to($s, $v.shape)
    $g = xp.sqrt(1.5 + $f * $f) {* $f ; + 1.0 ; - xp.abs($f)}
    = $v * $f + {$g ; xp.square($g) / (2.0 + $f * $f) ; xp.maximum($f, $g)}
uniform: one number alone
    $s = {s}
    $f = xp.broadcast_to($s, ({2, 3 ; 5, ; 4, 1, 7}))
    = ($f * 0.5 + $f * $f) {* 1.5 ; / (2.0 + $f * $f)}
uniform: constants *2
    $v = {n}
    $k = xp.full_like($v, 0.75) * xp.asarray(np.linspace(0.1, 1.0, $v.size).reshape($v.shape))
    $o = xp.sum($v * $k) * xp.asarray({[0.0, -0.0] ; [-0.0, 0.0, 0.0] ; [0.5, 0.5]})
    $c = {xp.asarray(np.linspace(0.5, 1.5, 6)) ; xp.arange({5 ; 9}, dtype=xp.float64) ; xp.asarray([0.0, -0.0, 1.0]) ; xp.asarray([0.0, -0.0])}
    $d = xp.sin($c) * xp.exp(-$c) + {0.5 * $c ; xp.sum($c)}
    = $v * xp.sum($d) + xp.sum(xp.reshape($v, (-1,))[:1] * xp.cos($d + $c)) + xp.sum($o)
uniform: a large constant
    $c = xp.cos(xp.asarray(np.linspace(0.0, 1.0, {66000 ; 300}))) {* 2.0 ; - 0.5}
    $x = {s} * $c
    = xp.sum($x * (xp.full_like($x, 0.5) * $c)) * 0.001
uniform: signs of zeros
    $v = {n}
    $z = xp.asarray(np.full($v.shape, -0.0)) { ; * 1.0}
    = {$v - $z ; $v + $z ; xp.sin($v[...]) + $z * $v ; $v * $z + $v}

chain: a sum
    $x = {vec}
    $y = {xp.cos($x) ; $x * 0.5 - 0.1 ; xp.asarray(np.linspace(0.2, 0.9, {N}))}
    $s = {0.5 ; {s} ; $x[0]}
    for k in range({N}):
        {$s = $s + $x[k] * $y[k] ; $s = $s - $x[k] * $x[k] ; $s = $x[k] + $s ; $s = $s + ($x[k] - 0.25) / 2.0 ; $s = $s + k * $x[k] ; $s = $s + (1.0 + 0.5 * k) * $x[k] * $y[0]}
    = $s
chain: a sum that subtracts
    $x = {vec}
    $s = {0.5 ; {s} ; $x[0]}
    for k in range({N}):
        $s = $s - {$x[k] * $x[k] ; $x[k] ; k * $x[k] * 0.1}
    = $s
chain: numbers that differ
    $x = {vec}
    $s = {0.5 ; {s}}
    for k in range({N}):
        $s = $s + {(1.0 + 0.5 * k) * $x[k] ; $x[k] / (1.0 + k) ; xp.maximum($x[k], 0.1 * k)} {; * $x[0]}
    = $s * 0.2
chain: terms of several arrays *4
    $x = {vec}
    $m = xp.reshape(xp.sin(xp.asarray(np.linspace(0.1, 2.0, 3 * {N}))) * {s}, {({N}, 3)) ; (3, {N})).mT}
    $s = xp.sum($x)
    for k in range({N}):
        $s = $s + {$m[k, 1] * $x[k] ; $x[-1 - k] * $m[0, 2] ; $m[k, k % 3] * $x[k] ; xp.sqrt(2.0 + $m[k, 0]) * xp.maximum($x[k], 0.1) ; xp.where($x[k] > 0.2, $m[k, 0], $m[k, 1])}
    = $s
chain: all elements
    $m = xp.reshape({vec}[:8], ({2 ; 1}, -1)){ ; .mT}
    $s = {s}
    for i in range($m.shape[0]):
        for j in range($m.shape[1]):
            $s = $s + {$m[i, j] ; xp.square($m[i, j]) ; $m[i, -1 - j]}
    = $s
chain: terms that are not alike
    $x = {vec}
    $s = {0.0 ; {s}}
    for k in range({N}):
        $s = $s + $x[k] * ({xp.sin($x[0] + k) ; xp.tanh($x[k]) ** 2 ; $x[(k * k + 1) % {N}] ; xp.asarray(0.1 * k)})
    = $s
chain: each term of the one before
    $x = {vec}
    $t = {s}
    $s = {0.0 ; {s}}
    for k in range({N}):
        $t = {0.5 * $t + $x[k] ; $t * $x[k] - 0.25}
        $s = $s + $t
    = $s * 0.1
chain: parts joined
    $x = {vec}
    $y = xp.zeros((4 * {N},), dtype=$x.dtype) + 0.5 * {s}
    for k in range({N}):
        $y[k] = $x[k] * {0.5 ; $x[k]}
    for k in range({N}):
        $y[{N} + k] = {xp.sin($x[k]) ; xp.sqrt(1.5 + $x[k] * $x[k]) ; {s}}
    for k in range({8 ; 2 ; {N}}):
        $y[2 * {N} + k] = $x[{k ; -1 - k ; 0}] - 0.25
    = $y
chain: writes
    $x = {vec}
    $y = {0.1 * $x ; xp.zeros_like($x) ; xp.sin($x)}
    for k in range({N}):
        $y[{k ; -1 - k ; (3 * k + 1) % {N} ; (k * k) % {N}}] = {$x[k] * 2.0 - 0.3 ; $x[0] ; $x[k] * $x[-1 - k]}
    = $y
chain: writes of rows
    $x = {vec}
    $c = {1 ; 2 ; 3}
    $y = xp.zeros(({N}, $c), dtype=$x.dtype) + {s}
    for k in range({N}):
        $y[{k, 0 ; k, -1 ; (5 * k + 1) % {N}, (k * k) % $c ; (k * k) % {N}, k % $c}] = $x[k] * {0.5 ; $x[0]}
    = $y
chain: scatters
    $x = {vec}
    $s = {0.0 ; {s}}
    for k in range({N}):
        $s = $s + {xp.sin($x[k]) ; xp.tanh($x[k]) * $x[(k + 1) % {N}] ; xp.exp(-$x[k % 5]) ; xp.sin($x[k * k % {N}])}
    = $s * 0.3
chain: scatters by two indices
    $x = xp.reshape({vec}, ({N}, 1)) * xp.asarray([0.5, -0.4, 0.3])
    $s = {0.0 ; {s}}
    for k in range({N}):
        $s = $s + xp.sin($x[{k, k % 3 ; k, 1 ; (3 * k + 1) % {N}, k * k % 3 ; k % 4, k % 2}]) * $x[k, 0]
    = $s * 0.3

scatters: the same part twice
    $x = {vec}
    = xp.sin($x[1:]) * $x[1:] + xp.cos($x[:-1]) * $x[1:] + {xp.exp(-$x[:-1]) ; $x[1:] * $x[:-1]}
scatters: the whole
    $x = {vec}
    = xp.sin($x[{... ; 0: ; :{N}}]) * 0.5 { ; + $x * 0.25 ; + xp.cos($x[0:])}
scatters: zeros with signs *4
    $x = {vec}
    $z = xp.asarray(np.full({N}, -0.0))
    = {xp.sum($z * $x) + xp.sum(xp.sin($x[0:])) ; xp.sum(xp.sin($x[0:])) + xp.sum($z * $x)}

large: network
    $x = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, {rows} * {width})), ({rows}, {width})))
    $w = xp.cos({s} + xp.reshape(xp.asarray(np.linspace(0.0, 7.0, {width} * {width})), ({width}, {width}))) / {width}
    $h = $x
    for k in range({2 ; 3 ; 5}):
        $h = {xp.tanh($h @ $w) ; xp.tanh($h @ $w + 0.1) ; xp.tanh($h @ $w) + $h ; xp.maximum($h @ $w, 0.1)}
    = {xp.mean($h * $h) ; xp.sum($h * xp.sin($x)) / {rows} ; xp.mean($h, axis=0)}
large: attention
    $q = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, {rows} * 16)), ({rows}, 16)))
    $k = xp.cos($q * 0.7)
    $e = $q @ $k.mT
    $e = xp.exp($e - xp.max($e, axis=-1, keepdims=True))
    = xp.mean(($e / xp.sum($e, axis=-1, keepdims=True) @ {$q ; $k}) ** 2)
large: elements
    $x = xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {2000 ; 40000}))){ ; [None, :] * xp.asarray([[0.5], [0.3]])}
    $y = $x * 0.5
    for k in range({3 ; 6}):
        $y = xp.maximum($y, $x * 0.3) - 0.1 * xp.square($y + {0.1 * k ; $x})
    $z = xp.where($y > 0.1, $y, -$x)
    = {xp.mean($z * $y) ; xp.sum($z, axis=-1) * 1e-4 ; xp.mean(xp.cos($y)) + (1.0 if xp.sum($y) > 1e9 else 0.5) + xp.max($z)}
large: in blocks *2
    $x = xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {300000 ; 320000})))
    $y = {$x ; xp.reshape($x, (1000, -1)).mT}
    for k in range(3):
        $y = xp.maximum($y * 0.9, 0.1 * $y + 0.2) - 0.1 * xp.square($y)
    for k in range({0 ; 0 ; 260}):
        $y = $y if k else xp.max($y, axis=0)
        $y = $y * 0.5 + 0.1
    = {xp.sum($y * $y) * 1e-6 ; xp.max($y) + (1.0 if xp.sum($y) > 1e9 else 0.5) * xp.mean($y * 0.5 + 1.0)}
large: states *2
    $w = {matrix} * 0.1
    $h = xp.sin(xp.asarray(np.linspace(0.0, 9.0, 64 * {128 ; 300}).reshape(-1, 64)) * {s})
    for k in range({2 ; 4}):
        $h = {xp.tanh($h @ $w) ; xp.tanh($h @ $w) + 0.1 * $h}
    = {xp.mean($h * $h) ; xp.mean($h)}
large: an input *3
    $x = {{matrix} ; xp.astype({matrix}, xp.float32)}
    $y = xp.sort($x, axis=-1)
    for k in range({2 ; 5}):
        $y = xp.tanh($y * {$x ; 0.5} + 0.1 * k) - xp.square($x) * 0.3
    = {xp.mean($y) ; xp.mean(xp.cumulative_sum($y, axis=0)) ; xp.mean($y @ $x)}
large: linear *3
    $c = xp.asarray(np.sin(np.arange(4096.0)).reshape(64, 64), dtype=xp.float32) * 0.1
    $a = xp.astype({matrix}, xp.float32) @ $c
    $b = $a @ $c
    $d = $b @ $c
    = xp.mean($d @ $c + {$b ; $a})
large: regions
    $x = xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {60000 ; 30000})))
    $n = $x.shape[0] - 8
    $y = 0.5 * $x[:$n]
    for k in range(8):
        $y = $y + (0.1 + k) * xp.cos($x[k : k + $n]) * xp.exp(-$x[k : k + $n])
    = xp.mean(xp.tanh($y) ** 2)
large: far apart
    $x = {vec}
    $t = {s}
    for j in range(2):
        $t = xp.cos(xp.acos(xp.log(xp.exp(xp.asin(xp.sin($t) * 0.3) * 0.3)) * 0.5)) * 0.1
        for k in range(480):
            $t = $t * 0.5 + ($x[k % {N}] if k % 7 else 0.1 * xp.square($t))
    = $t
moved again and again
    $u = xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {12 ; 9000})))
    for k in range({3 ; 5}):
        $u = $u + 0.1 * (xp.roll($u, 1) - 2.0 * $u + xp.roll($u, -1, axis=0))
    = xp.mean($u * $u)

c: elements
    $x = {elements}
    $y = {$x * 0.5 ; xp.cos($x)}
    for k in range({4 ; 9}):
        $y = xp.tanh($y + 0.1 * k) * {$x ; $y ; 0.9} - xp.square($x) * {0.1 ; $y}
    = {$y ; xp.mean($y) ; xp.sum($y * $x) * 0.01}
c: many ops
    $x = {elements}
    $y = xp.where(({$x > 0.1 ; $x >= 0.1 ; 0.1 < $x ; xp.isfinite($x)}) {& ($x < 0.9) ; | xp.signbit($x) ; & xp.isnan($x)}, $x, {0.2 ; -$x})
    $y = xp.clip($y, -0.4, 0.7) + {$y ** 2 ; xp.abs($y) ** 0.5 ; $y ** 3 ; xp.hypot($y, 2.0 + $x) ; xp.atan2($y, 2.0 + $x)} - xp.floor(3.0 * $x) * 0.1
    $y = $y + {xp.ones_like($y) ; xp.zeros_like($y)} * $x + xp.astype(xp.astype($y, xp.float32), $y.dtype)
    = {$y * $x ; xp.sum($y, axis=-1) ; xp.mean($y, axis=-1, keepdims=True) * $x}
c: complex
    $x = {elements}
    $z = xp.astype($x, xp.complex128) * (0.6 + 0.8j) + 0.1
    for k in range({3 ; 6}):
        $z = $z * {$z ; xp.conj($z) ; (0.5 + 0.5j)} - (-$z) * 0.3 + xp.where(xp.real($z) > 0.1, $z, 0.5 * $z)
    = xp.real($z) * 0.1 + xp.tanh(xp.imag($z))
c: sums *4
    $x = xp.reshape({elements}, ({{count}, -1 ; -1, {count} ; 1, -1}))
    $y = xp.exp(-xp.square($x)) * $x + 0.5
    $t = {$y / xp.sum($y, axis={-1 ; 0 ; None}, keepdims=True) ; $y - xp.mean($y, axis={-1 ; 0}, keepdims=True) ; $y * xp.sum($x)}
    = {xp.sum($t * $y, axis={-1 ; 0 ; None}) ; xp.mean($t, axis={-1 ; 0}) ; $t}
c: sums before a few *4
    $x = xp.reshape(xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {1800 ; 36000 ; 36000}))), ({-1, 20, 3 ; 3, -1, 2 ; 1, -1, 3 ; -1, 5, 3 ; 1, -1, 2}))
    $y = xp.square($x) * xp.cos($x) + {0.5 ; $x}
    = xp.{sum ; mean}($y, axis={1 ; -2 ; (0, 1) ; (1, 2)}) * 0.01
c: layouts *3
    $x = xp.reshape(xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {{many} ; 9600 ; 36000}))), ({-1, 12 ; -1, 3, 4 ; 2, -1, 6 ; -1, 3}))
    $t = {$x.mT ; xp.permute_dims($x, tuple(range($x.ndim))[::-1]) ; $x[::-1] ; $x[..., ::2] ; xp.flip($x)}
    $y = xp.exp(-xp.square($t)) * $t + {0.5 ; $t[..., :1] ; $t[:1]}
    $z = $y * {xp.cos($y) ; $t ; xp.asarray(np.linspace(0.5, 1.0, $t.shape[-1]))} - 0.3 * xp.square($y)
    = {$z ; xp.sum($z, axis={-1 ; 0}) ; xp.mean($z) ; $z + xp.sum($z, axis=-1, keepdims=True)} * 0.5
c: extremes *4
    $x = xp.reshape({elements}, ({-1, 1 ; 1, -1 ; 2, -1 ; 3, -1}))
    $m = xp.{max ; min}({$x ; $x * $x}, {axis=-1, keepdims=True ; axis=0, keepdims=True ; axis=None ; keepdims=True})
    $p = xp.sum(xp.max(xp.astype($x, {xp.float64 ; xp.float32}), axis={-1 ; 0}))
    $p = $p + xp.sum(xp.{max ; min}(xp.astype($x, {half(xp) ; xp.float64}), axis=-1, keepdims=True))
    = $p * 0.1 + xp.exp(-0.1 * {xp.square($x) ; $x}) * xp.exp($m) + xp.maximum($x, 0.3 * {$m ; xp.cos($x)})
c: regions
    $x = {elements}
    $w = xp.reshape(xp.sin({s} + xp.asarray(np.linspace(0.0, 1.0, 40))), (-1,))
    $k = {3 ; 8}
    $n = $x.shape[0] - $k
    $y = $w[0] * $x[:$n]
    for k in range(1, $k):
        $y = $y + $w[k] * {$x[k : k + $n] ; $x[k : k + $n, ...] ; xp.sin($x[k : k + $n]) ; $x[..., k : k + $n]}
    = xp.mean(xp.tanh($y) ** 2) {; + xp.sum($y[0:])}
c: many regions
    $x = xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, {90 ; 400})))
    $y = 0.1 * $x[:50]
    for k in range({33 ; 40 ; 6}):
        $y = $y + xp.cos($x[k : k + 50]) * 0.1
    = xp.mean($y * $y)
c: more regions than one loop adds to
    $x = xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, 400)))
    $y = 0.1 * $x[:50]
    for k in range({130 ; 66}):
        $y = $y + 0.01 * $x[k : k + 50] * {$x[k : k + 50] ; xp.cos($x[k + 1 : k + 51])}
    = xp.mean($y * $y)
c: regions of short rows *2
    $x = xp.reshape(xp.sin({s} + xp.asarray(np.linspace(0.0, 3.0, 40 * 12 * {1 ; 4}))), (-1, 12))
    $k = {slice(1, 9) ; slice(None, None, 2) ; slice(2, None) ; slice(9, 1, -1)}
    = xp.mean(xp.tanh($x[1:, $k] * $x[:-1, $k] + 0.5) ** 2) + xp.mean($x.mT[1:5, 1:] ** 2 * xp.cos($x.mT[1:5, :-1]))
c: products
    $a = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, {rows} * 16)), ({rows}, 16)))
    $b = xp.cos($a.mT) / 16
    $c = {$a @ $b ; ($a @ $b) @ $a @ $b ; xp.sin($a @ $b)}
    $d = {$c + $a @ $b ; $a @ $b + $c ; $c + ($a @ $b).mT ; $c + ($c @ $c).mT ; $c @ $c.mT + $c}
    = xp.mean(xp.tanh($d)) + xp.mean($c)
c: products of transposed factors
    $a = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, {rows} * 16)), ({rows}, 16)))
    = xp.mean(xp.cos($a @ $a.mT)) + xp.mean($a)
c: products in parts *2
    $w = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, 16 * 12)), (16, 12)))
    $h = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 5.0, {20 ; 4} * 16)), (-1, 16)))
    $y = [xp.tanh($h * (0.2 + k) @ $w) for k in range({2 ; 4})]
    = xp.mean(xp.concat($y, axis=0).mT @ xp.concat([xp.cos(each) for each in $y], axis=0)) {; + xp.mean(xp.concat($y, axis=0)) ; + xp.mean(xp.concat([each.mT for each in $y], axis=1) @ xp.asarray(np.linspace(0.0, 1.0, 7 * len($y) * $h.shape[0]).reshape(-1, 7)))}
c: recurrent network
    $u = xp.sin({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, 16 * 16)), (16, 16))) / 8
    $w = xp.cos({s} + xp.reshape(xp.asarray(np.linspace(0.0, 9.0, 16 * 16)), (16, 16))) / 8
    $x = xp.sin(xp.reshape(xp.asarray(np.linspace(0.0, 5.0, {20 ; 4} * 16)), (-1, 16)))
    $h = 0.3 * $x
    for k in range({3 ; 5}):
        $h = xp.tanh({$x ; $x * (1.0 + k)} @ $w + $h @ $u)
    = xp.mean($h * $h)
c: equations
    $m = {m} @ {m}.mT
    $l = xp.linalg.cholesky($m @ $m.mT + xp.asarray(np.eye($m.shape[-1])) * 2.0)
    = xp.linalg.solve({$l ; $l.mT}, {$m ; $m[..., :1] ; $m[:, 0] if $m.ndim == 2 else $m})
c: scalars
    $a, $b = {s}, {s}
    $x = {vec}
    for k in range({12 ; 20}):
        $a, $b = $a + 0.1 * ({xp.sin($b) ; $b * $b ; xp.tanh($b)}), $b - 0.1 * $a * {$x[k % {N}] ; 0.5 ; (0.1 + 0.2 * k) ; (0.5 if k % 3 else 0.25)}
    = {$a + $b ; xp.stack([$a, $b])}
c: scalars of a recurrence
    $x = {vec}
    $p = []
    for k in range({N}):
        $p.append(xp.sin($x[k]) * {0.5 ; $x[k] ; (1.0 + k)} + xp.exp(-xp.square($x[k])))
    $t = $p[{0 ; -1}]
    for k in range({N}):
        $t = $t * 0.5 + xp.cos($p[{k ; -1 - k}]) * xp.tanh($p[k]) * {$x[k] ; 0.25 ; 0.5 * k}
    = $t * $x
c: scalars beside each other
    $g = [{s}, 0.5 * {s}, {s} - 0.5, {s} * {s}, xp.cos({s}), xp.exp({s})]
    $t = {s}
    for k in range(12):
        $t = xp.sin($t + $g[k % 6] * 0.3) * 0.5 + $g[k % 6] * {$g[k % 6] ; 0.5}
    = $t
c: short arrays *2
    $q = xp.stack([{s}, 0.5 + {s}{ ; , 0.3 * {s}}])
    $m = xp.asarray(np.linspace(0.5, 0.9, $q.shape[0]))
    for k in range({12 ; 24}):
        $x, $y = {$q[0], $q[-1] ; xp.unstack($q)[:2]}
        $r = xp.sqrt(1.0 + $x * $x + $y * $y)
        $q = $q - 0.1 * {$q / $r ; xp.sin($q) ; xp.sum($q) * $m ; xp.stack([$y] + [-$x] * ($q.shape[0] - 1)) ; $q * $m}
    = $q
c: effects
    $x = {elements}
    $y = xp.exp(-xp.square($x)) * $x
    = $y * (1.0 if {xp.sum($y) > -1e9 ; xp.exp($y[0]) > -1.0 ; xp.max($y) < 1e9} else 2.0) + xp.cos($y) * xp.square($x)

numpy: memory
    $x = {elements}
    $y = xp.sort($x)
    $z = xp.sin($y) * 0.5 + $x
    = {$z ; xp.flip($z) + $z ; xp.roll($z, 2, axis=0) * $z ; xp.concat([$z, $y * $z])} * xp.cumulative_sum($x)[:1]
numpy: products
    $a = xp.reshape({vec}, (1, {N}, 1)) * xp.asarray(np.linspace(0.5, 1.0, 24).reshape(2, 1, 12))
    $b = xp.sin($a) @ xp.cos($a).mT
    = $b @ $b * 0.1 + xp.concat([$b, 0.5 * $b], axis=1)[:, : {N}]
numpy: updates
    $x = {vec}
    $y = xp.take($x, xp.asarray([{k3}]), axis=0) * xp.sin(xp.take($x, xp.asarray([{k3}]), axis=0))
    = xp.sum($y) + $x[1:] * xp.cos($x[:-1]) + $x[xp.asarray([{k3}])][0]
numpy: complex scalars
    $z = xp.astype({s}, xp.complex128) * (0.5 + 0.5j)
    $w = $z * $z - (0.5 - 0.1j) * $z + xp.astype(xp.asarray([0.5]), xp.complex128) * $z
    $w = $w * xp.reshape($z, (1,)) + xp.reshape($z, (1,))
    = xp.real(-$z * $w) + xp.imag($w / (2.0 + $z))

jax: a matrix and a vector
    $m = xp.reshape({vec}[:8], (4, 2))
    = xp.tanh($m.mT @ xp.sum($m, axis=-1)) + xp.sum($m, axis=-1) @ xp.sin($m)
jax: quotients
    $v = {v}
    $r = 1.0 / (2.0 + xp.cos($v))
    = {$v * $r ; $r * xp.sin($v)} + 1.0 / (3.0 + $v * $v) * {alike}
jax: constants *2
    $x = {elements}
    = xp.mean(xp.reshape($x, (1, -1)) @ xp.ones(({elements}.shape[0], {1 ; 2}), dtype=$x.dtype))
jax: gathers *2
    $x = xp.tanh({s} + xp.asarray(np.linspace(0.0, 3.0, {9000 ; 300 ; 9000})))
    $k = xp.asarray(np.arange($x.shape[0])[::-1].copy())
    = xp.mean(xp.cos(xp.take($x, $k, axis=0)) * $x)
jax: a determinant *2
    = xp.linalg.slogdet({regular})[1] * 0.1 + {xp.sum(xp.linalg.inv({regular})) ; xp.linalg.det({regular})}
"""
CHOICES = {"N": [8, 9, 12, 17], "rows": [24, 40, 130, 300], "width": [16, 32, 64]}
CHOICES |= {"count": [3, 12, 12, 24], "many": [24, 96, 240, 1200, 4800]}


def _blocks():
    found, names, lines = {}, [], []
    for line in filter(None, AIMS.splitlines()):
        if line.startswith(" "):
            lines.append(line[4:])
        else:
            name, _, often = line.partition(" *")
            lines = found.setdefault(name, [])
            names += [name] * int(often or 1)
    return found, names


# The statements of each aim, and the aims, each as often as it is to be drawn.
BLOCKS, NAMES = _blocks()
_INNERMOST = re.compile(r"\{([^{}]*)\}")


class Aimed(Slots):
    """Fills the slots of an aim."""

    def __init__(self, pick, values):
        super().__init__(pick, values)
        self.known = {}

    def block(self, name, prefix):
        """Return the statements of an aim, and the expression that it ends with."""
        text = "\n".join(BLOCKS[name])
        while (found := _INNERMOST.search(text)) is not None:
            text = text[: found.start()] + self._filled(found[1]) + text[found.end() :]
        *lines, last = text.replace("$", prefix).splitlines()
        return lines, last.removeprefix("= ")

    def _filled(self, inside):
        if ";" in inside:
            return self.pick([part.strip() for part in inside.split(";")])
        if inside in CHOICES:
            if inside not in self.known:
                self.known[inside] = self.pick(CHOICES[inside])
            return str(self.known[inside])
        return str(self.slot(inside))

    def s(self):
        """Return a number of an input, between -1 and 1."""
        return f"xp.astype(xp.sin({self.zero()}), {self.dtype})"

    @property
    def dtype(self):
        return self.known.setdefault("dtype", self.pick(["xp.float64"] * 3 + ["xp.float32"]))

    @property
    def vec(self):
        """An array of one axis, which has ``N`` elements."""
        numbers = f"xp.asarray(np.linspace(0.2, 1.7, {self._filled('N')}), dtype={self.dtype})"
        return f"xp.sin({self.s()} + {numbers})"

    @property
    def elements(self):
        """An array of one axis, with any number of elements."""
        count = self._filled("many")
        return (
            f"xp.sin({self.s()} + xp.asarray(np.linspace(0.0, 3.0, {count}), dtype={self.dtype}))"
        )

    def matrix(self):
        """Return a square matrix with 64 rows: an input, if there is such a one."""
        known = [name for name, value in self.values.items() if value.shape == (64, 64)]
        numbers = "xp.asarray(np.linspace(0.0, 99.0, 64 * 64).reshape(64, 64))"
        return self.pick([*known, *known, f"xp.sin({self.s()} + {numbers})"])

    def flip(self):
        return tuple(range(len(self.shape)))[::-1]

    def same_axes(self):
        return tuple(range(len(self.shape)))

    def k3(self):
        return ", ".join(str(self.pick(range(8))) for _ in range(3))
