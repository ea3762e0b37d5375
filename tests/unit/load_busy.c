/* SPDX-License-Identifier: Apache-2.0 */
/* A library that does when it is loaded what no library should: the counters must see it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int load_busy(void);
static int done;

int load_busy(void)
{
    return done;
}

__attribute__((constructor)) static void be_busy(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct stat status;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    done += fd >= 0 && fcntl(fd, F_GETFD) >= 0 && fstat(fd, &status) == 0;
    done += stat("/", &status) == 0;
    done += getenv("=") == NULL;
    done += mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    done += pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0;
    close(fd);
}
