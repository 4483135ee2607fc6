// The words of hopper.cuh for the host: barriers and products are done at once, waits give way to other threads.
#pragma once

#include <cstdio>
#include <cstdlib>

#define STRATA_MAP const Map

namespace emulator {
// What the stand-in for the driver writes into a map.
struct Matrix {
    const unsigned char* values;
    uint64_t columns, rows, row_bytes;
};

// One barrier: arrivals still missing, arrivals of a phase, bytes still missing, phases that are over.
struct Barrier {
    uint16_t missing, arrivals;
    uint16_t phase, unused;
};

// Lets other threads run.
void yield();
void meet(int number, int threads);
int& missing_bytes(const void* barrier);
}  // namespace emulator

STRATA_INLINE u32 shared_address(const void* shared) {
    return (u32)((const unsigned char*)shared - emulator::dynamic_shared());
}
STRATA_INLINE emulator::Barrier* barrier_of(u64* barrier) { return (emulator::Barrier*)barrier; }
STRATA_INLINE void barrier_check(u64* at) {
    emulator::Barrier* barrier = barrier_of(at);
    if (barrier->missing == 0 && emulator::missing_bytes(at) == 0) {
        barrier->missing = barrier->arrivals;
        barrier->phase++;
    }
}
STRATA_INLINE void barrier_start(u64* at, int arrivals) {
    *barrier_of(at) = emulator::Barrier{(uint16_t)arrivals, (uint16_t)arrivals, 0, 0};
    emulator::missing_bytes(at) = 0;
}
STRATA_INLINE void barriers_started() {}
STRATA_INLINE void barrier_arrive(u64* at) {
    barrier_of(at)->missing--;
    barrier_check(at);
}
STRATA_INLINE void barrier_expect(u64* at, int bytes) {
    emulator::missing_bytes(at) += bytes;
    barrier_arrive(at);
}
STRATA_INLINE void barrier_wait(u64* at, int parity) {
    while ((barrier_of(at)->phase & 1) == parity) {
        emulator::yield();
    }
}
STRATA_INLINE void fetch_box(void* shared, const Map* map, int x, int y, u64* barrier) {
    const emulator::Matrix* matrix = (const emulator::Matrix*)map;
    if (shared_address(shared) % 1024 != 0) {
        std::fprintf(stderr, "emulator: a box at an address that is no multiple of 1024\n");
        std::abort();
    }
    for (int row = 0; row < BOX; row++) {
        for (int chunk = 0; chunk < 8; chunk++) {
            unsigned char* to = (unsigned char*)shared + box_offset(row, chunk);
            std::memset(to, 0, 16);
            for (int i = 0; i < 8; i++) {
                uint64_t column = x + 8 * chunk + i;
                if ((uint64_t)(y + row) < matrix->rows && column < matrix->columns) {
                    std::memcpy(to + 2 * i, matrix->values + (uint64_t)(y + row) * matrix->row_bytes + 2 * column, 2);
                }
            }
        }
    }
    emulator::missing_bytes(barrier) -= BOX_BYTES;
    barrier_check(barrier);
}
STRATA_INLINE void publish_shared() {}
STRATA_INLINE void named_barrier(int number, int threads) { emulator::meet(number, threads); }
template <int REGISTERS>
STRATA_INLINE void take_registers() {}
template <int REGISTERS>
STRATA_INLINE void leave_registers() {}
STRATA_INLINE void group_begin() {}
STRATA_INLINE void group_commit() {}
template <int PENDING>
STRATA_INLINE void group_wait() {}
template <int COUNT>
STRATA_INLINE void group_fence(float (&d)[COUNT]) {}

// The value of row `row` and column k of what a descriptor points at, as the hardware finds it.
STRATA_INLINE float described(u64 descriptor, bool columns_innermost, int row, int k) {
    u32 start = (u32)(descriptor & 0x3fff) << 4;
    u32 leading = (u32)(descriptor >> 16 & 0x3fff) << 4, stride = (u32)(descriptor >> 32 & 0x3fff) << 4;
    u32 at = columns_innermost ? start + row / 64 * leading + k / 8 * stride + k % 8 * 128 + row % 64 * 2
                               : start + row / 8 * stride + row % 8 * 128 + k * 2;
    at ^= (at >> 7 & 7) << 4;
    u16 bits;
    std::memcpy(&bits, emulator::dynamic_shared() + at, 2);
    return from_half(bits);
}
template <int N>
struct Group {
    static void multiply(float (&d)[N / 2], u64 a, u64 b, int accumulate) {
        int lane = threadIdx.x & 31, warp = threadIdx.x >> 5 & 3;
        for (int half = 0; half < 2; half++) {
            float left[16];
            for (int k = 0; k < 16; k++) {
                left[k] = described(a, false, 16 * warp + lane / 4 + 8 * half, k);
            }
            add(d, left, half, b, false, accumulate);
        }
    }
    static void gather(float (&d)[N / 2], const u32 (&a)[4], u64 b, int accumulate) {
        struct Own {
            u32 a[4];
        } own = {{a[0], a[1], a[2], a[3]}};
        const unsigned char* all = emulator::exchange(&own, sizeof own);
        int lane = threadIdx.x & 31;
        float left[2][16];
        for (int half = 0; half < 2; half++) {
            for (int k = 0; k < 16; k++) {
                Own from = emulator::lane_value<Own>(all, lane / 4 * 4 + k % 8 / 2);
                left[half][k] = from_half((u16)(from.a[half + 2 * (k / 8)] >> (16 * (k % 2))));
            }
        }
        for (int half = 0; half < 2; half++) {
            add(d, left[half], half, b, true, accumulate);
        }
    }

   private:
    static void add(float (&d)[N / 2], const float* left, int half, u64 b, bool columns_innermost, int accumulate) {
        int lane = threadIdx.x & 31;
        for (int i = 0; i < N / 8; i++) {
            for (int e = 0; e < 2; e++) {
                float& sum = d[4 * i + 2 * half + e];
                float total = accumulate ? sum : 0.0f;
                for (int k = 0; k < 16; k++) {
                    total += left[k] * described(b, columns_innermost, 8 * i + 2 * (lane % 4) + e, k);
                }
                sum = total;
            }
        }
    }
};
