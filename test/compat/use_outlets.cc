// SPDX-License-Identifier: BSD-3-Clause
// Outlets as C++ programs use them: all of use_outlets.c.
#include "use_outlets.c"
