/* Counts heap allocations; preloaded into benchmarks together with preloaded_clock.c, which calls
 * rsb_clock_read at each read of the clock.
 *
 * At exit, it writes to the file RSB_HEAP_COUNTS. The first line has the number of allocations that
 * the executable requested itself (0 if it has an allocator of its own), the number of all
 * allocations, and their bytes. Each further line is a span between two reads of the clock with at
 * least one allocation: the number of the span, its allocations, and the bytes by which the heap
 * grew from its start to its peak. A reallocation counts as an allocation of the new size. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__ /* Other C libraries do not export their allocator under a second name. */

#define ADD(counter, amount) __atomic_add_fetch(&(counter), (amount), __ATOMIC_RELAXED)
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define SPANS 4096 /* Later ones are not kept. */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

struct span {
    int64_t number;
    int64_t allocations;
    int64_t bytes;
};

static char file[PATH_MAX];
static pid_t process;
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

    dl_iterate_phdr(find_code, NULL);
    process = getpid();
    if (path && strlen(path) < sizeof file)
        strcpy(file, path);
}

__attribute__((destructor)) static void stop(void)
{
    long long counts[] = {own, allocations, bytes}; /* Writing may allocate. */
    int output;

    if (!*file || getpid() != process)
        return;
    output = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    dprintf(output, "%lld %lld %lld\n", counts[0], counts[1], counts[2]);
    for (int at = 0; at < used; at++)
        dprintf(output, "%lld %lld %lld\n", (long long)spans[at].number,
                (long long)spans[at].allocations, (long long)spans[at].bytes);
}

void rsb_clock_read(void)
{
    if (allocations != begun.allocations && used < SPANS)
        spans[used++] = (struct span){begun.number, allocations - begun.allocations,
                                      peak - begun.bytes};
    begun = (struct span){begun.number + 1, allocations, live};
    peak = live;
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
    now = ADD(live, (int64_t)malloc_usable_size(block));
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
    int64_t before = (int64_t)malloc_usable_size(block);
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
    ADD(live, -(int64_t)malloc_usable_size(block));
    __libc_free(block);
}

#endif
