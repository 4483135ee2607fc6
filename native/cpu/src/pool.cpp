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

uint64_t word(uint32_t epoch, int first, int end) { return uint64_t(epoch) << 32 | uint64_t(end) << 16 | uint64_t(first); }
int endOf(uint64_t w) { return int(w >> 16 & 0xffff); }
int firstOf(uint64_t w) { return int(w & 0xffff); }

}  // namespace

// Does one chunk of the owner's range.
bool Pool::take(int owner, int worker) {
    std::atomic<uint64_t>& range = ranges_[owner].word;
    uint64_t seen = range.load(std::memory_order_acquire);
    while (firstOf(seen) < endOf(seen)) {
        Body body = body_.load(std::memory_order_relaxed);
        const void* argument = argument_.load(std::memory_order_relaxed);
        const uint64_t rest = owner == worker ? seen + 1 : seen - (1 << 16);
        if (range.compare_exchange_weak(seen, rest, std::memory_order_acq_rel, std::memory_order_acquire)) {
            body(argument, owner == worker ? firstOf(seen) : endOf(seen) - 1, worker);
            done_.fetch_add(1, std::memory_order_release);
            return true;
        }
    }
    return false;
}

// Takes chunks until there are none, and says whether there were any.
bool Pool::claim(int worker) {
    bool worked = false;
    while (take(worker, worker)) worked = true;
    for (int i = 1; i < threads_; i++) {
        const int owner = (worker + i) % threads_;
        while (take(owner, worker)) worked = true;
    }
    return worked;
}

void Pool::publish(int chunks, Body body, const void* argument) {
    // More chunks than a range counts: several jobs. No caller comes near.
    if (chunks > MAX_CHUNKS) {
        for (int i = 0; i < chunks; i++) body(argument, i, 0);
        return;
    }
    const uint32_t epoch = job_.load(std::memory_order_relaxed) + 1;
    body_.store(body, std::memory_order_relaxed);
    argument_.store(argument, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    for (int w = 0; w < threads_; w++) {
        const int first = int(int64_t(chunks) * w / threads_), end = int(int64_t(chunks) * (w + 1) / threads_);
        ranges_[w].word.store(word(epoch, first, end), std::memory_order_release);
    }
    job_.store(epoch, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) {
        wake_.fetch_add(1, std::memory_order_seq_cst);
        syscall(SYS_futex, (uint32_t*)&wake_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
    claim(0);
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
    uint32_t last = 0;
    while (!stopped_.load(std::memory_order_acquire)) {
        const uint32_t job = job_.load(std::memory_order_acquire);
        if (job != last) {
            last = job;
            if (claim(index)) idleSince = nanos();
            continue;
        }
        _mm_pause();
        if (++polls % 256 != 0 || nanos() - idleSince < SPIN_NANOS) continue;
        uint32_t expected = wake_.load(std::memory_order_seq_cst);
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        if (job_.load(std::memory_order_seq_cst) == last && !stopped_.load(std::memory_order_seq_cst)) {
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
