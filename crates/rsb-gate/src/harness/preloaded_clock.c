/* A monotonic clock that is preloaded into benchmarks.
 *
 * RSB_CLOCK_SCALE is the factor by which it runs faster: a harness that accepts only whole seconds
 * then warms up and measures for a fraction of them, and its times are divided by the scale later.
 *
 * RSB_CLOCK_STEP is the number of nanoseconds by which it advances at each read; random bytes are
 * then always the same. So a harness plans the same number of iterations in every process, and its
 * instructions can be counted.
 *
 * Creates the file RSB_CLOCK_MARK to show that the clock is in use: a static executable ignores the
 * preloaded library. With a step, the file contains the number of reads of the clock at exit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int clock_function(clockid_t, struct timespec *);

/* Of preloaded_heap.c, if that is preloaded, too. */
extern void rsb_clock_read(void) __attribute__((weak));

static clock_function *real_clock;
static int64_t scale = 1;
static int64_t step;
static int64_t origin;
static int64_t reads;
static char mark[PATH_MAX];
static int mark_file = -1;
static pid_t process;

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int64_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("RSB_CLOCK_MARK");
    struct timespec now;

    real_clock = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
    if (!real_clock || !path || strlen(path) >= sizeof mark || real_clock(CLOCK_MONOTONIC, &now) != 0)
        return;
    strcpy(mark, path);
    mark_file = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (mark_file < 0)
        return;
    process = getpid();
    origin = nanoseconds(&now);
    scale = number("RSB_CLOCK_SCALE");
    step = number("RSB_CLOCK_STEP");
}

__attribute__((destructor)) static void stop(void)
{
    char text[32];

    if (step <= 0 || getpid() != process)
        return;
    int length = snprintf(text, sizeof text, "%lld", (long long)reads);
    /* A program that the benchmark started may have written more digits. */
    if (ftruncate(mark_file, 0) != 0 || pwrite(mark_file, text, (size_t)length, 0) != length)
        unlink(mark);
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    int64_t shown;

    if (!real_clock)
        real_clock = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
    if (id == CLOCK_MONOTONIC && step > 0) {
        /* Starts at a fixed time: formatting the digits of a date or age takes instructions, too. */
        shown = 1000000000000 + step * __atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED);
        if (rsb_clock_read)
            rsb_clock_read();
    } else {
        int status = real_clock(id, time);
        if (status != 0 || id != CLOCK_MONOTONIC || scale <= 1)
            return status;
        shown = origin + (nanoseconds(time) - origin) * scale;
    }
    time->tv_sec = shown / 1000000000;
    time->tv_nsec = shown % 1000000000;
    return 0;
}

/* Seeds hash maps. Each request returns different bytes, because file names need them. */
ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
    static int64_t requests;

    if (step <= 0)
        return syscall(SYS_getrandom, buffer, length, flags);
    uint64_t seed = (uint64_t)__atomic_add_fetch(&requests, 1, __ATOMIC_RELAXED);
    for (size_t at = 0; at < length; at++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ((unsigned char *)buffer)[at] = (unsigned char)(seed >> 56);
    }
    return (ssize_t)length;
}
