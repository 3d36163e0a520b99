/* A plain C copy after McCalpin's STREAM, the peer of `memory-bandwidth`: best GB/s of REPEATS passes over BYTES.
 * Compiled with: cc -O3 -march=native; -fno-tree-loop-distribute-patterns keeps the loop from becoming memcpy. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **arguments) {
    size_t bytes = count > 1 ? strtoull(arguments[1], NULL, 10) : 64u << 20;
    int repeats = count > 2 ? atoi(arguments[2]) : 50;
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
        for (size_t i = 0; i < elements; i++) {
            to[i] = from[i];
        }
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
