#include "pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace strata {

namespace {

constexpr int64_t SPIN_NANOS = 20'000'000;
constexpr int MAX_CHUNKS = 0xffff;

int64_t nanos() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * int64_t(1'000'000'000) + now.tv_nsec;
}

uint64_t word(uint32_t epoch, int chunks) { return uint64_t(epoch) << 32 | uint64_t(chunks) << 16; }
int chunksOf(uint64_t w) { return int(w >> 16 & 0xffff); }
int nextOf(uint64_t w) { return int(w & 0xffff); }

}  // namespace

bool Pool::claim(uint64_t seen, int worker) {
    bool worked = false;
    while (nextOf(seen) < chunksOf(seen)) {
        Body body = body_.load(std::memory_order_relaxed);
        const void* argument = argument_.load(std::memory_order_relaxed);
        if (claim_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
            body(argument, nextOf(seen), worker);
            done_.fetch_add(1, std::memory_order_release);
            worked = true;
            seen = claim_.load(std::memory_order_acquire);
        }
    }
    return worked;
}

void Pool::publish(int chunks, Body body, const void* argument) {
    // More chunks than the claim word counts: several jobs. No caller comes near.
    if (chunks > MAX_CHUNKS) {
        for (int i = 0; i < chunks; i++) body(argument, i, 0);
        return;
    }
    body_.store(body, std::memory_order_relaxed);
    argument_.store(argument, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    uint64_t claims = word(++epoch_, chunks);
    claim_.store(claims, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
        wake_.fetch_add(1, std::memory_order_seq_cst);
        syscall(SYS_futex, (uint32_t*)&wake_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
    claim(claims, 0);
    int spins = 0;
    while (done_.load(std::memory_order_acquire) < chunks) {
        // A worker may have lost its core to another process: let it run.
        if (++spins > 4000) syscall(SYS_sched_yield);
        else _mm_pause();
    }
}

void Pool::work(int index) {
    int64_t idleSince = nanos();
    int polls = 0;
    while (!stopped_.load(std::memory_order_acquire)) {
        uint64_t seen = claim_.load(std::memory_order_acquire);
        if (nextOf(seen) < chunksOf(seen)) {
            if (claim(seen, index)) idleSince = nanos();
            continue;
        }
        _mm_pause();
        if (++polls % 256 != 0 || nanos() - idleSince < SPIN_NANOS) continue;
        uint32_t expected = wake_.load(std::memory_order_seq_cst);
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        seen = claim_.load(std::memory_order_seq_cst);
        if (nextOf(seen) >= chunksOf(seen) && !stopped_.load(std::memory_order_seq_cst)) {
            syscall(SYS_futex, (uint32_t*)&wake_, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
        }
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
        idleSince = nanos();
    }
}

void Pool::stop() {
    stopped_.store(true, std::memory_order_seq_cst);
    wake_.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, (uint32_t*)&wake_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace strata
