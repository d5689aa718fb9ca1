/* Products of matrices that fit into the processor's first caches.
 *
 * Libraries for large matrices spend much of the time of a small product on copying its factors,
 * and on choosing how. A tile of the result stays in registers here, and each of its elements is
 * added up in the order of the factors' common axis, from zero or from what is there before.
 */
#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
enum { WIDE = 64, ROWS = 8, VECTORS = 2 };
#elif defined(__AVX__)
enum { WIDE = 32, ROWS = 4, VECTORS = 2 };
#else
enum { WIDE = 16, ROWS = 4, VECTORS = 2 };
#endif
enum { DEEPEST = 256, LONGEST = 256 }; /* as in _choose/products.py */

#define INLINE static inline __attribute__((always_inline))

#define SHARED static __attribute__((noinline, noclone)) /* by all products: to compile it is long */
#define UNROLLED _Pragma("GCC unroll 8")

#define PRODUCTS(T)                                                                               \
    typedef T v_##T __attribute__((vector_size(WIDE), aligned(sizeof(T)), may_alias));            \
    enum { COLUMNS_##T = VECTORS * WIDE / sizeof(T) };                                            \
                                                                                                  \
    INLINE void tile_##T(int rows, const T *a, ptrdiff_t ai, ptrdiff_t ak, const T *b,            \
                         ptrdiff_t bk, T *c, ptrdiff_t ci, ptrdiff_t depth, int adds)             \
    {                                                                                             \
        v_##T sums[ROWS][VECTORS];                                                                \
        UNROLLED for (int r = 0; r < rows; r++)                                                   \
            UNROLLED for (int v = 0; v < VECTORS; v++)                                            \
                sums[r][v] = adds ? ((const v_##T *)(c + r * ci))[v] : (v_##T){0};                \
        for (ptrdiff_t k = 0; k < depth; k++) {                                                   \
            v_##T right[VECTORS];                                                                 \
            UNROLLED for (int v = 0; v < VECTORS; v++)                                            \
                right[v] = ((const v_##T *)(b + k * bk))[v];                                      \
            UNROLLED for (int r = 0; r < rows; r++)                                               \
                UNROLLED for (int v = 0; v < VECTORS; v++)                                        \
                    sums[r][v] += a[r * ai + k * ak] * right[v];                                  \
        }                                                                                         \
        UNROLLED for (int r = 0; r < rows; r++)                                                   \
            UNROLLED for (int v = 0; v < VECTORS; v++)                                            \
                ((v_##T *)(c + r * ci))[v] = sums[r][v];                                          \
    }                                                                                             \
                                                                                                  \
    /* As many columns of the result as a tile has, which are ci elements apart. */               \
    static void panel_##T(ptrdiff_t rows, const T *a, ptrdiff_t ai, ptrdiff_t ak, const T *b,     \
                          ptrdiff_t bk, T *c, ptrdiff_t ci, ptrdiff_t depth, int adds)            \
    {                                                                                             \
        ptrdiff_t r = 0;                                                                          \
        for (; r + ROWS <= rows; r += ROWS)                                                       \
            tile_##T(ROWS, a + r * ai, ai, ak, b, bk, c + r * ci, ci, depth, adds);               \
        for (; r + 2 <= rows; r += 2)                                                             \
            tile_##T(2, a + r * ai, ai, ak, b, bk, c + r * ci, ci, depth, adds);                  \
        if (r < rows) tile_##T(1, a + r * ai, ai, ak, b, bk, c + r * ci, ci, depth, adds);        \
    }                                                                                             \
                                                                                                  \
    /* The result's rows lie one after the other; all strides are in elements. With a start,      \
     * which may be the result, the product is added to it. */                                    \
    SHARED int product_##T(const T *a, ptrdiff_t ai, ptrdiff_t ak, const T *b, ptrdiff_t bk,      \
                           ptrdiff_t bj, T *c, ptrdiff_t rows, ptrdiff_t columns,                 \
                           ptrdiff_t depth, const T *start)                                       \
    {                                                                                             \
        const int adds = start != NULL;                                                           \
        if (adds && start != c) memcpy(c, start, sizeof(T) * rows * columns);                     \
        T packed[DEEPEST * COLUMNS_##T], part[LONGEST * COLUMNS_##T];                             \
        for (ptrdiff_t j = 0; j < columns; j += COLUMNS_##T) {                                    \
            const ptrdiff_t left = columns - j, m = left < COLUMNS_##T ? left : COLUMNS_##T;      \
            const T *right = b + j * bj;                                                          \
            ptrdiff_t step = bk;                                                                  \
            if (bj != 1 || m < COLUMNS_##T) {                                                     \
                step = COLUMNS_##T;                                                               \
                if (m < step) memset(packed, 0, sizeof(T) * depth * step);                        \
                for (ptrdiff_t l = 0; l < m; l++)                                                 \
                    for (ptrdiff_t k = 0; k < depth; k++)                                         \
                        packed[k * step + l] = right[k * bk + l * bj];                            \
                right = packed;                                                                   \
            }                                                                                     \
            if (m == COLUMNS_##T) {                                                               \
                panel_##T(rows, a, ai, ak, right, step, c + j, columns, depth, adds);             \
                continue;                                                                         \
            }                                                                                     \
            if (adds) memset(part, 0, sizeof(T) * rows * COLUMNS_##T);                            \
            for (ptrdiff_t r = 0; adds && r < rows; r++)                                          \
                memcpy(part + r * COLUMNS_##T, c + r * columns + j, m * sizeof(T));               \
            panel_##T(rows, a, ai, ak, right, step, part, COLUMNS_##T, depth, adds);              \
            for (ptrdiff_t r = 0; r < rows; r++)                                                  \
                memcpy(c + r * columns + j, part + r * COLUMNS_##T, m * sizeof(T));               \
        }                                                                                         \
        return 0;                                                                                 \
    }

PRODUCTS(double)
PRODUCTS(float)
