/* A plain C copy after McCalpin's STREAM, to compare `memory-bandwidth` with. Prints the best GB/s of REPEATS passes over
 * BYTES; a third argument selects stores that bypass the caches.
 * Compile with cc -O3 -march=native; -fno-tree-loop-distribute-patterns keeps the loop from becoming memcpy. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void copy(float *to, const float *from, size_t elements) {
    for (size_t i = 0; i < elements; i++) {
        to[i] = from[i];
    }
}

static void copy_around_caches(float *to, const float *from, size_t elements) {
#ifdef __AVX__
    for (size_t i = 0; i + 8 <= elements; i += 8) {
        _mm256_stream_ps(to + i, _mm256_load_ps(from + i));
    }
    _mm_sfence();
#else
    (void)to, (void)from, (void)elements;
    fprintf(stderr, "no streaming stores: this needs AVX\n");
    exit(1);
#endif
}

int main(int count, char **arguments) {
    size_t bytes = count > 1 ? strtoull(arguments[1], NULL, 10) : 64u << 20;
    int repeats = count > 2 ? atoi(arguments[2]) : 50;
    void (*pass)(float *, const float *, size_t) = count > 3 ? copy_around_caches : copy;
    size_t elements = bytes / sizeof(float);
    float *from = aligned_alloc(4096, bytes);
    float *to = aligned_alloc(4096, bytes);
    if (from == NULL || to == NULL) {
        fprintf(stderr, "no memory for two buffers of %zu bytes\n", bytes);
        return 1;
    }
    for (size_t i = 0; i < elements; i++) {
        from[i] = (float)i;
        to[i] = 0.0f;
    }
    double best = 1e300;
    for (int repeat = 0; repeat < repeats; repeat++) {
        double began = now();
        pass(to, from, elements);
        __asm__ volatile("" : : "r"(to) : "memory");
        double took = now() - began;
        if (took < best) {
            best = took;
        }
    }
    printf("%.3f\n", 2.0 * (double)bytes / best);
    free(from);
    free(to);
    return 0;
}
