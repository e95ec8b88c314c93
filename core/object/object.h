/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a file is a complete shared object for this process, without
 * loading it: the loader maps what the headers announce, and accessing missing
 * bytes ends the process by SIGBUS. Has no dependencies: the conformance kit
 * uses it too.
 */
#ifndef OBJECT_OBJECT_H
#define OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns false, and the reason in text, cut to size bytes, if the file is for
 * another machine, an executable, or its headers or segments exceed the file.
 * Their contents are not checked. [any thread] */
bool object_check(const char *path, char *text, size_t size);

#endif /* OBJECT_OBJECT_H */
