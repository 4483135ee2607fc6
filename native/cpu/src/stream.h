// The order in which a stream of weights is prefetched.
#pragma once
#include <cstdint>

namespace strata {

// How far ahead of its use a cache line is fetched into the first cache, and the bytes of a window, whose lines are fetched into the second cache in another order than
// that of their use: a processor's own prefetchers follow a stream to the end of its page of 4 KiB and begin anew there, but follow several pages at once. So the first
// lines of four pages come first, then the second ones.
constexpr int PREFETCH = 1024;
constexpr int STREAM_PAGE = 4096, STREAMS = 4, WINDOW = STREAMS * STREAM_PAGE;

// To be called for the bytes of a stream one after the other. Inlined always: the compiler takes out calls of what does nothing but prefetch.
static inline __attribute__((always_inline)) void prefetchRun(const uint8_t* p, int bytes) {
    constexpr uintptr_t LINE = 64, CHUNK = STREAMS * LINE;
    const uintptr_t end = ((uintptr_t)p + bytes) / CHUNK;
    for (uintptr_t chunk = (uintptr_t)p / CHUNK; chunk != end; chunk++) {
        const uint8_t* near = (const uint8_t*)(chunk * CHUNK) + PREFETCH;
        const uint8_t* far = (const uint8_t*)((chunk * CHUNK / WINDOW + 1) * WINDOW + chunk % (STREAM_PAGE / LINE) * LINE);
#pragma GCC unroll 4
        for (int i = 0; i < STREAMS; i++) {
            __builtin_prefetch(far + i * STREAM_PAGE, 0, 2);
            __builtin_prefetch(near + i * LINE, 0, 3);
        }
    }
}

}  // namespace strata
