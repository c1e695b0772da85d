/*
 * User Mode Linux on processors with more registers than it knows.
 *
 * Linux 6.1 under User Mode Linux keeps room for the registers of AVX-512 and no more. Where the processor has AMX
 * tiles besides, the host refuses to restore such a part of the state (EFAULT: it wants all of it), and the first
 * program in the machine dies. Loaded with LD_PRELOAD, this completes what UML restores with what is there already.
 * Nothing in the machine uses the tiles.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* UML calls this from one thread only, on stacks that are too small for the buffer. */
static unsigned char state[1 << 16] __attribute__((aligned(64)));

long ptrace(enum __ptrace_request request, ...)
{
    static long (*libc_ptrace)(enum __ptrace_request, ...);
    va_list arguments;
    va_start(arguments, request);
    long process = va_arg(arguments, long);
    long kind = va_arg(arguments, long);
    struct iovec *given = va_arg(arguments, struct iovec *);
    va_end(arguments);
    if (libc_ptrace == NULL)
        *(void **)&libc_ptrace = dlsym(RTLD_NEXT, "ptrace");
    if (request != PTRACE_SETREGSET || kind != NT_X86_XSTATE)
        return libc_ptrace(request, process, kind, given);
    struct iovec whole = { state, sizeof state };
    if (libc_ptrace(PTRACE_GETREGSET, process, kind, &whole) < 0)
        return -1;
    memcpy(state, given->iov_base, given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len);
    return libc_ptrace(PTRACE_SETREGSET, process, kind, &whole);
}
