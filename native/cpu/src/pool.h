// Worker threads that spin briefly for the next job, then sleep. The threads belong to the caller, which sends each of them into
// work(); the thread that calls run() takes part in every job.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace strata {

class Pool {
   public:
    explicit Pool(int threads) : ranges_(new Range[size_t(threads)]), threads_(threads) {}
    ~Pool() { delete[] ranges_; }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // Threads that take part in jobs, the caller included.
    int threads() const { return threads_; }

    // Takes part in jobs until stop(). Worker indexes are 1 ... threads - 1.
    void work(int index);
    void stop();

    // Calls f(chunk, worker) for every chunk, each once, on any of the threads, and returns when all are done.
    template <class F>
    void run(int chunks, const F& f) {
        if (chunks <= 0) return;
        if (chunks == 1 || threads_ == 1) {
            for (int i = 0; i < chunks; i++) f(i, 0);
            return;
        }
        publish(chunks, [](const void* body, int chunk, int worker) { (*(const F*)body)(chunk, worker); }, &f);
    }

   private:
    using Body = void (*)(const void*, int, int);

    void publish(int chunks, Body body, const void* argument);
    bool claim(int worker);
    bool take(int owner, int worker);

    // The chunks of one worker that nobody has taken: epoch of the job (upper half), then their end and the first one in 16 bits each. The owner takes the first, so
    // that weights that lie side by side are read by one thread, prefetched across its claims; others help themselves at the end when they have none left. A
    // compare-and-swap on the whole word means that a late worker can never take a chunk of another job than the one whose body it read.
    struct alignas(64) Range {
        std::atomic<uint64_t> word{0};
    };
    Range* ranges_;
    // Epoch of the last job, set when its ranges are.
    alignas(64) std::atomic<uint32_t> job_{0};
    alignas(64) std::atomic<int> done_{0};
    alignas(64) std::atomic<uint32_t> wake_{0};
    std::atomic<int> sleepers_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<Body> body_{nullptr};
    std::atomic<const void*> argument_{nullptr};
    int threads_;
};

}  // namespace strata
