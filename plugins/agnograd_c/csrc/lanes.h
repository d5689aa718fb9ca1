/* What the text of groups names: values of LANES elements at once, or of one if LANES is 1.
 *
 * Types are f64, f32, i64, i32, and b1, which is true or false. A function's name ends in the type
 * of its result, or, for comparisons, in that of its arguments.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 1024 /* elements that are added up before their sum is added to others */
#define INLINE static inline __attribute__((always_inline))

#if LANES == 1

typedef double f64;
typedef float f32;
typedef int64_t i64;
typedef int32_t i32;
typedef int b1;
#define SELECT(T, c, a, b) ((c) ? (a) : (b))
#define TRUTH(x) ((b1)(x))
#define not_b1(a) (!(a))
#define CONVERT(T, x) ((T)(x))
#define OF_B1(T, x) ((T)(x))
#define EACH(T, x, f) f(x)
#define EACH2(T, x, y, f) f(x, y)
#define splat_f64(x) ((f64)(x))
#define splat_f32(x) ((f32)(x))
#define splat_i64(x) ((i64)(x))
#define splat_i32(x) ((i32)(x))
#define splat_b1(x) ((b1)((x) != 0))

#else

/* As in memory: at any place. */
typedef double f64 __attribute__((vector_size(8 * LANES), aligned(8)));
typedef float f32 __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int64_t i64 __attribute__((vector_size(8 * LANES), aligned(8)));
typedef int32_t i32 __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int8_t i8 __attribute__((vector_size(LANES), aligned(1)));
#if LANES == 8
typedef i64 b1; /* all bits or none */
#else
typedef i32 b1;
#endif
#define CONVERT(T, x) __builtin_convertvector(x, T)
#define TRUTH(x) CONVERT(b1, x)
#define not_b1(a) (~(a))
#define OF_B1(T, x) ((T)(CONVERT(BITS_##T, x) & (BITS_##T)splat_##T(1)))
#define BITS_f64 i64
#define BITS_f32 i32
#define BITS_i64 i64
#define BITS_i32 i32
#define BITS_b1 b1
#define SELECT(T, c, a, b) \
    ((T)((CONVERT(BITS_##T, c) & (BITS_##T)(a)) | (~CONVERT(BITS_##T, c) & (BITS_##T)(b))))
#define EACH(T, x, f) \
    ({ T x_ = (x), r_; for (int l = 0; l < LANES; l++) r_[l] = f(x_[l]); r_; })
#define EACH2(T, x, y, f) \
    ({ T x_ = (x), y_ = (y), r_; for (int l = 0; l < LANES; l++) r_[l] = f(x_[l], y_[l]); r_; })
#define SPLAT(T, E) \
    INLINE T splat_##T(E x) { T r; for (int l = 0; l < LANES; l++) r[l] = x; return r; }
SPLAT(f64, double)
SPLAT(f32, float)
SPLAT(i64, int64_t)
SPLAT(i32, int32_t)
INLINE b1 splat_b1(int x) { b1 r; for (int l = 0; l < LANES; l++) r[l] = -(x != 0); return r; }

/* Reading and writing: in a row, and with any stride; fewer than LANES at the end of a row. */
#define MEMORY(T, E) \
    INLINE T row_##T(const char *p, ptrdiff_t m) \
    { \
        T r = {0}; \
        if (m >= LANES) memcpy(&r, p, sizeof r); else memcpy(&r, p, m * sizeof(E)); \
        return r; \
    } \
    INLINE T apart_##T(const char *p, ptrdiff_t s, ptrdiff_t m) \
    { \
        T r = {0}; \
        if (m >= LANES) for (int l = 0; l < LANES; l++) r[l] = *(const E *)(p + l * s); \
        else for (int l = 0; l < m; l++) r[l] = *(const E *)(p + l * s); \
        return r; \
    } \
    INLINE void put_row_##T(char *p, ptrdiff_t m, T r) \
    { \
        if (m >= LANES) memcpy(p, &r, sizeof r); else memcpy(p, &r, m * sizeof(E)); \
    } \
    INLINE void put_apart_##T(char *p, ptrdiff_t s, ptrdiff_t m, T r) \
    { \
        if (m > LANES) m = LANES; \
        for (int l = 0; l < m; l++) *(E *)(p + l * s) = r[l]; \
    }
MEMORY(f64, double)
MEMORY(f32, float)
MEMORY(i64, int64_t)
MEMORY(i32, int32_t)
MEMORY(i8, int8_t)
#define row_b1(p, m) (CONVERT(b1, row_i8(p, m)) != 0)
#define apart_b1(p, s, m) (CONVERT(b1, apart_i8(p, s, m)) != 0)
#define put_row_b1(p, m, r) put_row_i8(p, m, -CONVERT(i8, r))
#define put_apart_b1(p, s, m, r) put_apart_i8(p, s, m, -CONVERT(i8, r))

/* The sum of the lanes, in pairs, in the type that sums of chunks have. */
#define TOTAL(T, P) \
    INLINE P total_##T(T x) \
    { \
        P r[LANES]; \
        for (int l = 0; l < LANES; l++) r[l] = x[l]; \
        for (int n = LANES / 2; n; n /= 2) for (int l = 0; l < n; l++) r[l] += r[l + n]; \
        return r[0]; \
    } \
    INLINE T first_##T(T x, ptrdiff_t m) \
    { \
        if (m < LANES) for (int l = m; l < LANES; l++) x[l] = 0; \
        return x; \
    }
TOTAL(f64, double)
TOTAL(f32, double)
TOTAL(i64, int64_t)
TOTAL(i32, int64_t)

#endif

#define PAIRS(T, P) \
    static P pairs_##T(const P *x, ptrdiff_t n) \
    { \
        if (n < 8) { P r = n ? x[0] : 0; for (ptrdiff_t k = 1; k < n; k++) r += x[k]; return r; } \
        return pairs_##T(x, n / 2) + pairs_##T(x + n / 2, n - n / 2); \
    }
__attribute__((unused)) PAIRS(f64, double)
__attribute__((unused)) PAIRS(i64, int64_t)

/* Arithmetic, the same bit for bit as NumPy's; of two zeros, a maximum is the second. */
#define NUMBERS(T) \
    INLINE T add_##T(T a, T b) { return a + b; } \
    INLINE T subtract_##T(T a, T b) { return a - b; } \
    INLINE T multiply_##T(T a, T b) { return a * b; } \
    INLINE T negative_##T(T a) { return -a; } \
    INLINE T square_##T(T a) { return a * a; } \
    INLINE b1 less_##T(T a, T b) { return TRUTH(a < b); } \
    INLINE b1 less_equal_##T(T a, T b) { return TRUTH(a <= b); } \
    INLINE b1 equal_##T(T a, T b) { return TRUTH(a == b); } \
    INLINE b1 not_equal_##T(T a, T b) { return TRUTH(a != b); } \
    INLINE b1 b1_of_##T(T a) { return TRUTH(a != 0); } \
    INLINE T where_##T(b1 c, T a, T b) { return SELECT(T, c, a, b); } \
    INLINE T T##_of_b1(b1 a) { return OF_B1(T, a); }
NUMBERS(f64)
NUMBERS(f32)
NUMBERS(i64)
NUMBERS(i32)
#define CASTS(T, U) INLINE T T##_of_##U(U a) { return CONVERT(T, a); }
CASTS(f64, f32)
CASTS(f64, i64)
CASTS(f64, i32)
CASTS(f32, f64)
CASTS(f32, i64)
CASTS(f32, i32)
CASTS(i64, i32)
CASTS(i32, i64)
#define INTEGERS(T) \
    INLINE T maximum_##T(T a, T b) { return SELECT(T, TRUTH(a >= b), a, b); } \
    INLINE T minimum_##T(T a, T b) { return SELECT(T, TRUTH(a <= b), a, b); } \
    INLINE T abs_##T(T a) { return SELECT(T, TRUTH(a < 0), -a, a); } \
    INLINE T and_##T(T a, T b) { return a & b; } \
    INLINE T or_##T(T a, T b) { return a | b; } \
    INLINE T xor_##T(T a, T b) { return a ^ b; } \
    INLINE T invert_##T(T a) { return ~a; }
INTEGERS(i64)
INTEGERS(i32)
#define FLOATS(T, S) \
    INLINE T divide_##T(T a, T b) { return a / b; } \
    INLINE T reciprocal_##T(T a) { return 1 / a; } \
    INLINE b1 isnan_##T(T a) { return TRUTH(a != a); } \
    INLINE b1 isfinite_##T(T a) { return TRUTH(a - a == 0); } \
    INLINE b1 isinf_##T(T a) { return not_b1(TRUTH(a - a == 0)) & TRUTH(a == a); } \
    INLINE T maximum_##T(T a, T b) { return SELECT(T, TRUTH(a > b) | isnan_##T(a), a, b); } \
    INLINE T minimum_##T(T a, T b) { return SELECT(T, TRUTH(a < b) | isnan_##T(a), a, b); } \
    INLINE T abs_##T(T a) { return EACH(T, a, __builtin_fabs##S); } \
    INLINE T sqrt_##T(T a) { return EACH(T, a, __builtin_sqrt##S); } \
    INLINE T floor_##T(T a) { return EACH(T, a, __builtin_floor##S); } \
    INLINE T ceil_##T(T a) { return EACH(T, a, __builtin_ceil##S); } \
    INLINE T trunc_##T(T a) { return EACH(T, a, __builtin_trunc##S); } \
    INLINE T round_##T(T a) { return EACH(T, a, __builtin_rint##S); } \
    INLINE T copysign_##T(T a, T b) { return EACH2(T, a, b, __builtin_copysign##S); } \
    INLINE b1 signbit_##T(T a) { return TRUTH(copysign_##T(splat_##T(1), a) < 0); } \
    INLINE T sign_##T(T a) \
    { \
        T r = T##_of_b1(TRUTH(a > 0)) - T##_of_b1(TRUTH(a < 0)); \
        return SELECT(T, isnan_##T(a), a, r); \
    }
FLOATS(f64, )
FLOATS(f32, f)
INLINE b1 and_b1(b1 a, b1 b) { return a & b; }
INLINE b1 or_b1(b1 a, b1 b) { return a | b; }
INLINE b1 xor_b1(b1 a, b1 b) { return a ^ b; }
INLINE b1 invert_b1(b1 a) { return not_b1(a); }
INLINE b1 where_b1(b1 c, b1 a, b1 b) { return (c & a) | (not_b1(c) & b); }
INLINE b1 equal_b1(b1 a, b1 b) { return not_b1(a ^ b); }
INLINE b1 not_equal_b1(b1 a, b1 b) { return a ^ b; }

#if LANES == 1
/* Elements at places in bytes: reading, adding to them, and a copy of all of them. */
#define ARRAYS(T) \
    INLINE T read_##T(const char *p, ptrdiff_t at) { return *(const T *)(p + at); } \
    INLINE T scatter_##T(char *p, ptrdiff_t at, T x) { return *(T *)(p + at) += x; } \
    INLINE T copy_##T(char *p, const char *from, ptrdiff_t n, ptrdiff_t stride) \
    { \
        for (ptrdiff_t k = 0; k < n; k++) ((T *)p)[k] = *(const T *)(from + k * stride); \
        return 0; \
    }
ARRAYS(f64)
ARRAYS(f32)
ARRAYS(i64)
ARRAYS(i32)
#define read_b1(p, at) (*(const int8_t *)((p) + (at)) != 0)
#endif

/* tanh(x) by e = exp(-2 |x|), which its derivative needs, too. Close to 0, where 1 - e would cancel,
 * it is the rational function, and in single precision the polynomial, of Cephes (Moshier, tanh.c and
 * tanhf.c). There is one division for both. */
INLINE f64 tanh_by_f64(f64 x, f64 e)
{
    f64 a = abs_f64(x), z = a * a;
    f64 p = ((z * -9.64399179425052238628e-1 - 9.92877231001918586564e1) * z - 1.61468768441708447952e3);
    f64 q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
    b1 small = TRUTH(a < splat_f64(0.625));
    f64 r = where_f64(small, p * z * a, 1 - e) / where_f64(small, q, 1 + e);
    return copysign_f64(where_f64(small, a + r, r), x);
}
INLINE f32 tanh_by_f32(f32 x, f32 e)
{
    f32 a = abs_f32(x), z = a * a;
    f32 p = (((z * -5.70498872745e-3f + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z
             + 1.33314422036e-1f) * z - 3.33332819422e-1f;
    b1 small = TRUTH(a < splat_f32(0.625f));
    return copysign_f32(where_f32(small, a + p * z * a, (1 - e) / (1 + e)), x);
}

/* Functions of the C library: of one element after the other, or of several at once, by libmvec. */
#define FUNCTION(name, T, S) \
    INLINE T name##_##T(T a) { return EACH(T, a, name##S); }
#define FUNCTION2(name, T, S) \
    INLINE T name##_##T(T a, T b) { return EACH2(T, a, b, name##S); }
#if LANES > 1
#if defined __AVX512F__
#define NATIVE 64
#define VECTOR_f64(v, name) _ZGVeN8##v##_##name
#elif defined __AVX2__
#define NATIVE 32
#define VECTOR_f64(v, name) _ZGVdN4##v##_##name
#else
#define NATIVE 16
#ifdef __aarch64__
#define VECTOR_f64(v, name) _ZGVnN2##v##_##name
#else
#define VECTOR_f64(v, name) _ZGVbN2##v##_##name
#endif
#endif
#if NATIVE == 64 && LANES == 16
#define NATIVE_f32 64
#define VECTOR_f32(v, name) _ZGVeN16##v##_##name##f
#elif NATIVE >= 32
#define NATIVE_f32 32
#define VECTOR_f32(v, name) _ZGVdN8##v##_##name##f
#elif defined __aarch64__
#define NATIVE_f32 16
#define VECTOR_f32(v, name) _ZGVnN4##v##_##name##f
#else
#define NATIVE_f32 16
#define VECTOR_f32(v, name) _ZGVbN4##v##_##name##f
#endif
typedef double few_f64 __attribute__((vector_size(NATIVE)));
typedef float few_f32 __attribute__((vector_size(NATIVE_f32)));
#define PARTS(T) (sizeof(T) / sizeof(few_##T))
#define VECTORS(name, T) \
    few_##T VECTOR_##T(v, name)(few_##T); \
    INLINE T name##_##T(T a) \
    { \
        few_##T part[PARTS(T)]; \
        memcpy(part, &a, sizeof a); \
        for (size_t k = 0; k < PARTS(T); k++) part[k] = VECTOR_##T(v, name)(part[k]); \
        memcpy(&a, part, sizeof a); \
        return a; \
    }
#define VECTORS2(name, T) \
    few_##T VECTOR_##T(vv, name)(few_##T, few_##T); \
    INLINE T name##_##T(T a, T b) \
    { \
        few_##T part[PARTS(T)], other[PARTS(T)]; \
        memcpy(part, &a, sizeof a); \
        memcpy(other, &b, sizeof b); \
        for (size_t k = 0; k < PARTS(T); k++) part[k] = VECTOR_##T(vv, name)(part[k], other[k]); \
        memcpy(&a, part, sizeof a); \
        return a; \
    }
#endif
