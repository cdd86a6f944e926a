/* A wall clock that is off by as many seconds as the file says that WALL_CLOCK names: eight bytes,
 * which may change at any moment. All other clocks are left alone. Preloaded into a service.
 *
 * Waits until a moment of the wall clock are the kernel's, which knows nothing of it: their moments
 * are shifted back.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MONOTONIC 2 /* of a condition's flags in glibc 2.25 and later */
#define EXPORT __attribute__((visibility("default")))

static const volatile int64_t none = 0, *shift = &none;

__attribute__((constructor)) static void open_shift(void) {
    const char *name = getenv("WALL_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) shift = page;
    close(file);
}

static void *next(const char *name, const char *version) {
    void *found = dlvsym(RTLD_NEXT, name, version);
    return found ? found : dlsym(RTLD_NEXT, name);
}

static struct timespec back(const struct timespec *moment, int is_wall) {
    struct timespec real = *moment;
    if (is_wall) real.tv_sec -= *shift;
    return real;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (!result && is_wall) now->tv_sec += *shift;
    return result;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &precise)) return -1;
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

EXPORT time_t time(time_t *seconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds) *seconds = now.tv_sec;
    return now.tv_sec;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition,
                                  pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict until) {
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (!wait) wait = next("pthread_cond_timedwait", "GLIBC_2.3.2");
    struct timespec real = back(until, !(condition->__data.__wrefs & MONOTONIC));
    return wait(condition, mutex, &real);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition,
                                  pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict until) {
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    if (!wait) wait = next("pthread_cond_clockwait", "GLIBC_2.34");
    struct timespec real = back(until, clock == CLOCK_REALTIME);
    return wait(condition, mutex, clock, &real);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
                                   const struct timespec *restrict until) {
    static int (*wait)(pthread_mutex_t *, const struct timespec *);
    if (!wait) wait = next("pthread_mutex_timedlock", "GLIBC_2.34");
    struct timespec real = back(until, 1);
    return wait(mutex, &real);
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    static int (*wait)(sem_t *, const struct timespec *);
    if (!wait) wait = next("sem_timedwait", "GLIBC_2.34");
    struct timespec real = back(until, 1);
    return wait(semaphore, &real);
}
