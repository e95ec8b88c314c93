/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's variables, as its user set them. */
#ifndef UCX_ENVIRONMENT_H
#define UCX_ENVIRONMENT_H

/* The variable UCX_<name> of the environment; NULL if it is not set, or empty. */
const char *ucx_environment(const char *name);

#endif /* UCX_ENVIRONMENT_H */
