/* A function of units of work, called for all of them by one thread or several. */
#include <pthread.h>

typedef int (*Part)(char *const *p, ptrdiff_t lo, ptrdiff_t hi, char *sums);
struct share { Part part; char *const *p; ptrdiff_t lo, hi; char *sums; int failed; };

static void *do_share(void *given)
{
    struct share *s = given;
    s->failed = s->part(s->p, s->lo, s->hi, s->sums);
    return NULL;
}

/* What a share computes does not depend on how many there are. */
static int spread(Part part, char *const *p, ptrdiff_t units, char *sums, long threads)
{
    enum { MOST = 64 };
    struct share shares[MOST];
    pthread_t made[MOST];
    char started[MOST] = {0};
    int failed = 0;
    if (threads > units) threads = units;
    if (threads > MOST) threads = MOST;
    if (threads < 2) return part(p, 0, units, sums);
    for (long k = threads - 1; k >= 0; k--) {
        shares[k] = (struct share){part, p, units * k / threads, units * (k + 1) / threads, sums, 0};
        if (k) started[k] = !pthread_create(&made[k], NULL, do_share, &shares[k]);
        if (!started[k]) do_share(&shares[k]);
    }
    for (long k = 0; k < threads; k++) {
        if (started[k]) pthread_join(made[k], NULL);
        failed |= shares[k].failed;
    }
    return failed;
}
