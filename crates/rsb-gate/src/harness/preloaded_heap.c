/* Counts heap allocations; preloaded into benchmarks together with preloaded_clock.c, which calls
 * rsb_clock_read at each read of the clock.
 *
 * At exit, it writes to the file RSB_HEAP_COUNTS. The first line has the number of allocations that
 * the executable requested itself (few if it has an allocator of its own), the number of all
 * allocations, their bytes, and the number of spans. Each further line is a span between two reads
 * of the clock by the main thread with at least one allocation: the number of the span, its
 * allocations, and the bytes in use at its start and at its peak. A reallocation counts as an
 * allocation of the new size. A process with too many spans, or with a malloc other than this one,
 * writes nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __GLIBC__ /* Other C libraries do not export their allocator under a second name. */

#define ADD(counter, amount) __atomic_add_fetch(&(counter), (amount), __ATOMIC_RELAXED)
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define SPANS 65536 /* With more, nothing is written. */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

struct span {
    int64_t number;
    int64_t allocations;
    int64_t start;
    int64_t peak;
};

typedef size_t size_function(void *);

static char file[PATH_MAX];
static pid_t process;
/* Of glibc, even if another library exports the function, too. */
static size_function *usable_size;
static uintptr_t code, code_size;
static int64_t own, allocations, bytes, live, peak;
static struct span spans[SPANS];
static int used;
/* At the start of the current span: its number, all allocations, and the bytes in use. */
static struct span begun;

static int find_code(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            code = object->dlpi_addr + part->p_vaddr;
            code_size = part->p_memsz;
        }
    }
    return 1; /* The first object is the executable; leaves out the others. */
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("RSB_HEAP_COUNTS");
    void *c_library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    dl_iterate_phdr(find_code, NULL);
    process = getpid();
    if (c_library)
        usable_size = (size_function *)dlsym(c_library, "malloc_usable_size");
    if (path && strlen(path) < sizeof file && usable_size
        && dlsym(RTLD_DEFAULT, "malloc") == (void *)malloc)
        strcpy(file, path);
    unsetenv("RSB_HEAP_COUNTS"); /* Programs that the benchmark starts write nothing. */
}

__attribute__((destructor)) static void stop(void)
{
    /* Writing may allocate. */
    long long counts[] = {own, allocations, bytes, begun.number + 1};
    int output;

    if (!*file || getpid() != process || used == SPANS)
        return;
    output = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dprintf(output, "%lld %lld %lld %lld\n", counts[0], counts[1], counts[2], counts[3]);
    for (int at = 0; at < used; at++)
        dprintf(output, "%lld %lld %lld %lld\n", (long long)spans[at].number,
                (long long)spans[at].allocations, (long long)spans[at].start,
                (long long)spans[at].peak);
}

void rsb_clock_read(void)
{
    if (syscall(SYS_gettid) != process)
        return;
    if (allocations != begun.allocations && used < SPANS)
        spans[used++] = (struct span){begun.number, allocations - begun.allocations, begun.start,
                                      peak};
    begun = (struct span){begun.number + 1, allocations, live, 0};
    peak = live;
}

static int64_t size_of(void *block)
{
    return usable_size ? (int64_t)usable_size(block) : 0;
}

static void count(void *block, size_t size, uintptr_t caller)
{
    int64_t now, known = __atomic_load_n(&peak, __ATOMIC_RELAXED);

    if (!block)
        return;
    ADD(allocations, 1);
    ADD(bytes, (int64_t)size);
    if (caller - code < code_size)
        ADD(own, 1);
    now = ADD(live, size_of(block));
    while (now > known && !__atomic_compare_exchange_n(&peak, &known, now, 1, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

void *malloc(size_t size)
{
    void *block = __libc_malloc(size);

    count(block, size, CALLER);
    return block;
}

void *calloc(size_t number, size_t size)
{
    void *block = __libc_calloc(number, size);

    count(block, number * size, CALLER);
    return block;
}

void *realloc(void *block, size_t size)
{
    int64_t before = size_of(block);
    void *moved = __libc_realloc(block, size);

    if (moved || size == 0)
        ADD(live, -before);
    count(moved, size, CALLER);
    return moved;
}

void *memalign(size_t alignment, size_t size)
{
    void *block = __libc_memalign(alignment, size);

    count(block, size, CALLER);
    return block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *block = __libc_memalign(alignment, size);

    count(block, size, CALLER);
    return block;
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
    void *block;

    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    block = __libc_memalign(alignment, size);
    if (!block)
        return ENOMEM;
    count(block, size, CALLER);
    *result = block;
    return 0;
}

void free(void *block)
{
    ADD(live, -size_of(block));
    __libc_free(block);
}

#endif
