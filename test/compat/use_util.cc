// SPDX-License-Identifier: BSD-3-Clause
// The util headers as C++ programs use them: all of use_util.c, and headers that
// a program includes as C's.
extern "C" {
#include "mercury_atomic.h"
#include "mercury_thread_pool.h"
}

#include "use_util.c"

#include <memory>

namespace service {

/* The type of a pool is complete, for those that own it by a pointer type. */
struct Pool {
    std::unique_ptr<hg_thread_pool_t> pool;
};

bool
is_started(const Pool &pool)
{
    return pool.pool != nullptr;
}

} // namespace service
