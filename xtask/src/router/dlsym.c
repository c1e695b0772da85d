/* What dlsym(3) answers in a static program: no library has such a name, since there is none.
 *
 * musl's own for MIPS (src/ldso/mips/dlsym.s) is in assembly that relies on its address in register 25, as in programs that may
 * be anywhere, and does not say so to the linker. A program at one address jumps to it without, and ends with a bus error. */

#include <stddef.h>

void *dlsym(void *library, const char *name)
{
	(void)library;
	(void)name;
	return NULL;
}

/* Its name for programs that count seconds with 64 bits. */
void *__dlsym_time64(void *library, const char *name)
{
	return dlsym(library, name);
}
