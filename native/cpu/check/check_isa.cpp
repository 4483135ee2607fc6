// Checks every instruction set that this processor has against scalar float64 products over decoded weights, and measures. No
// dependency: make -C native/cpu check-isa. Arguments: [isa=NAME,NAME...] check | bench or decode (rows alone) [threads] [MiB] [type ids] |
// kernels [type id] (in cache) | experts TYPE-ID ROWS. Ids of packed matrices are 64 above those of their types.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "context.h"
#include "kernels.h"
#include "numbers.h"
#include "ops/experts.h"
#include "strata_cpu.h"
#include "stream.h"

using namespace strata;

namespace {

struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15ull + 1) {}
    uint64_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state * 0x2545f4914f6cdd1dull;
    }
    float uniform() { return float(next() >> 40) * (2.0f / 16777216) - 1; }
};

const char* typeName(int type) {
    switch (type) {
#define X(name, id, elements, bytes) \
    case id: return #name;
        STRATA_TYPES(X)
#undef X
#define X(name, bits, factors, unit, values) \
    case PACKED + name: return #name "*";
        STRATA_PACKED(X)
#undef X
    }
    return "?";
}

std::vector<int> allTypes() {
    return {
#define X(name, id, elements, bytes) id,
        STRATA_TYPES(X)
#undef X
#define X(name, bits, factors, unit, values) PACKED + name,
            STRATA_PACKED(X)
#undef X
    };
}

// Random bytes with sane factors: float16 fields near 0.01.
void fillBlocks(int type, uint8_t* p, int64_t elements, Random& random) {
    const TypeInfo& info = typeInfo(type);
    auto half = [&](uint8_t* at) {
        uint16_t h = floatToHalf(0.01f * (1 + 0.5f * random.uniform()));
        memcpy(at, &h, 2);
    };
    for (int64_t e = 0; e < elements; e += info.elements, p += info.bytes) {
        if (type == F32) {
            float v = random.uniform();
            memcpy(p, &v, 4);
            continue;
        }
        if (type == F16 || type == BF16) {
            uint16_t v = type == F16 ? floatToHalf(random.uniform()) : floatToBf16(random.uniform());
            memcpy(p, &v, 2);
            continue;
        }
        for (int i = 0; i < info.bytes; i++) p[i] = uint8_t(random.next() >> 33);
        switch (type) {
            case Q4_1:
            case Q5_1:
            case Q4_K:
            case Q5_K:
                half(p);
                half(p + 2);
                break;
            case Q2_K:
                half(p + 80);
                half(p + 82);
                break;
            case Q3_K: half(p + 108); break;
            case Q6_K: half(p + 208); break;
            case TQ1_0: half(p + 52); break;
            case TQ2_0: half(p + 64); break;
            case IQ1_M:
                // The factor's nibbles are spread over the top of four words.
                for (int i = 0; i < 4; i++) p[48 + 2 * i + 1] = uint8_t((p[48 + 2 * i + 1] & 15) | (0x211f >> (4 * i) & 15) << 4);
                break;
            case MXFP4: p[0] = uint8_t(120 + p[0] % 8); break;
            case NVFP4:
                for (int i = 0; i < 4; i++) p[i] = uint8_t(0x20 + p[i] % 0x20);
                break;
            default: half(p); break;
        }
    }
}

// A matrix of stored blocks, and what it becomes where `kind` is packed. Decoding either gives the same numbers, bit for bit.
struct Stored {
    int type;
    std::vector<uint8_t> blocks, packed;

    Stored(Context& c, int kind, int outputs, int inputs, Random& random) : type(kind % PACKED) {
        const int64_t row = rowBytes(type, inputs);
        blocks.resize(size_t(row) * outputs + 8192);
        fillBlocks(type, blocks.data(), int64_t(outputs) * inputs, random);
        if (kind < PACKED) return;
        packed.resize(size_t(rowBytes(kind, inputs)) * outputs + 8192);
        strata_cpu_pack((int64_t)&c, type, (int64_t)blocks.data(), outputs, inputs, (int64_t)packed.data());
    }
    const uint8_t* data() const { return packed.empty() ? blocks.data() : packed.data(); }
};

// Names of the sets to look at, separated by commas; empty: all.
std::string only;

std::vector<const Kernels*> available() {
#ifdef STRATA_MODEL
    return {kernels_vbmi(), kernels_amx()};
#endif
    std::vector<const Kernels*> result;
    for (int isa = 0; isa <= strata_cpu_best_isa(-1); isa++) {
        const Kernels* k = chooseKernels(isa);
        const bool wanted = only.empty() || ("," + only + ",").find("," + std::string(k->name) + ",") != std::string::npos;
        if (wanted && (result.empty() || result.back() != k)) result.push_back(k);
    }
    return result;
}

int failures = 0;

// out against exact products: normalised mean square error.
void checkProduct(const Kernels* k, int type, int outputs, int inputs, int rows) {
    Random random(uint64_t(type) * 1000 + uint64_t(outputs * 7 + inputs * 3 + rows));
    Context c(k, 1);
    const Stored w(c, type, outputs, inputs, random);
    std::vector<float> x(size_t(rows) * inputs), out(size_t(rows) * outputs, 0.5f), decoded(inputs), unpacked(inputs);
    for (float& v : x) v = random.uniform() + 0.1f;
    // Twice with the same rows, whose forms are kept, then with one number changed.
    std::vector<double> sum(x.size());
    for (int turn = 0; turn < 3; turn++) {
        if (turn == 2) x[x.size() / 2] += 1;
        strata_cpu_matmul((int64_t)&c, type, (int64_t)w.data(), outputs, inputs, 0.75f, (int64_t)x.data(), rows,
                          (int64_t)out.data(), turn > 0);
        for (size_t i = 0; i < x.size(); i++) sum[i] += x[i];
    }
    double error = 0, norm = 0;
    for (int o = 0; o < outputs; o++) {
        typeInfo(w.type).decode(w.blocks.data() + o * rowBytes(w.type, inputs), decoded.data(), inputs);
        if (type >= PACKED) {
            decodePacked(type, k->lanes, w.data(), inputs, o, unpacked.data());
            if (memcmp(decoded.data(), unpacked.data(), size_t(inputs) * 4) != 0) {
                failures++;
                printf("FAIL %s %s: output %d of %d x %d is packed to other numbers\n", k->name, typeName(type), o, outputs, inputs);
                return;
            }
        }
        for (int r = 0; r < rows; r++) {
            double exact = 0, spread = 0;
            for (int i = 0; i < inputs; i++) {
                double term = double(decoded[i]) * sum[size_t(r) * inputs + i];
                exact += term;
                spread += term * term;
            }
            exact *= 0.75;
            double diff = exact - out[size_t(r) * outputs + o];
            error += diff * diff;
            norm += exact * exact + spread;  // a sum near zero is no measure of its terms
        }
    }
    double relative = std::sqrt(error / norm);
    // Root of the normalised error; 16-bit activations leave about 3e-5.
    if (!(relative < 2e-4)) {
        failures++;
        printf("FAIL %s %s outputs %d inputs %d rows %d: relative error %.3g\n", k->name, typeName(type), outputs, inputs, rows, relative);
    }
}

int check() {
    for (const Kernels* k : available()) {
        int before = failures;
        int cases = 0;
        for (int type : allTypes()) {
            if (type >= PACKED && k->lanes == 0) continue;
            int unit = typeInfo(type).elements;
            for (int inputs : {unit == 1 ? 24 : unit, unit == 1 ? 77 : 5 * unit, unit < 256 ? 640 : 1024, 2304}) {
                if (type >= PACKED && inputs % RUN_INPUTS != 0) continue;
                for (int outputs : type >= PACKED ? std::vector<int>{16, 48, 112} : std::vector<int>{1, 19, 64, 70}) {
                    for (int rows : {1, 2, 3, 5, 8, 9, 12, 13, 31, 200}) {
#ifdef STRATA_MODEL
                        // Slow: only what the modelled files do themselves.
                        if (inputs > 1024 || outputs % 64 == 0 || rows % 2 == 0 || rows > 13) continue;
                        // Tiles of packed matrices are modelled for the AMX unit alone.
                        if (type >= PACKED && rows > MAX_DOT_ROWS && k->isa < ISA_amx) continue;
#endif
                        if (rows == 200 && (inputs != 2304 || outputs < 70)) continue;
                        checkProduct(k, type, outputs, inputs, rows);
                        cases++;
                    }
                }
            }
        }
        printf("%-8s %d product cases, %d failed\n", k->name, cases, failures - before);
    }
    return failures ? 1 : 0;
}

// Every chunk of every job is done once, whoever does it: jobs follow one another at once, or after all threads have fallen asleep.
void checkPool() {
    const int before = failures;
    int jobs = 0;
    for (int threads : {2, 3, 8}) {
        Pool pool(threads);
        std::vector<std::thread> workers;
        for (int i = 1; i < threads; i++) workers.emplace_back([&pool, i] { pool.work(i); });
        Random random{uint64_t(threads)};
        for (int job = 0; job < 4'000; job++, jobs++) {
            const int chunks = int(random.next() >> 40) % (job % 100 == 0 ? 3000 : 20);
            std::vector<std::atomic<int>> done(size_t(chunks) + 1);
            pool.run(chunks, [&](int chunk, int) {
                // Some take longer, so that others help.
                for (volatile int turn = chunk % 7 == 0 ? 2000 : 0; turn > 0; turn = turn - 1) {}
                done[size_t(chunk)]++;
            });
            for (int i = 0; i < chunks; i++) failures += done[size_t(i)] != 1;
            if (job % 1000 == 999) std::this_thread::sleep_for(std::chrono::milliseconds(40));
        }
        pool.stop();
        for (std::thread& worker : workers) worker.join();
    }
    printf("pool     %d jobs, %d chunks not done once\n", jobs, failures - before);
}

double seconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// A context whose workers run on threads of ours, bound to processors.
struct Threaded {
    Context c;
    std::vector<std::thread> threads;
    Threaded(const Kernels* k, int count) : c(k, count) {
        for (int i = 1; i < count; i++) {
            threads.emplace_back([this, i] {
                cpu_set_t set;
                CPU_ZERO(&set);
                CPU_SET(i, &set);
                sched_setaffinity(0, sizeof set, &set);
                c.pool.work(i);
            });
        }
    }
    ~Threaded() {
        c.pool.stop();
        for (auto& t : threads) t.join();
    }
};

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

// Bytes per second of plain reads over all threads, each line prefetched 4 KiB ahead, or in the kernels' order: what is faster.
double readBandwidth(Context& c, const uint8_t* memory, int64_t bytes) {
    constexpr int64_t PIECE = 1 << 18, STEP = 256, LINE = 64;
    static float sink[1024 * 16];
    double best = 0;
    for (bool windows : {false, true}) {
        std::vector<double> rates;
        for (int repeat = 0; repeat < 9; repeat++) {
            double start = seconds();
            c.pool.run(int(bytes / PIECE), [&](int chunk, int worker) {
                const uint8_t* p = memory + chunk * PIECE;
                uint64_t sum = 0;
                for (int64_t i = 0; i < PIECE; i += STEP) {
                    if (windows) prefetchRun(p + i, STEP);
                    for (int64_t j = i; j < i + STEP; j += LINE) {
                        if (!windows) __builtin_prefetch(p + j + 4096);
                        sum += *(const uint64_t*)(p + j);
                    }
                }
                sink[worker * 16] += float(sum & 1);
            });
            rates.push_back(double(bytes) / (seconds() - start));
        }
        best = std::max(best, median(rates));
    }
    return best;
}

int bench(int threads, int64_t mib, const std::vector<int>& types, bool prompts) {
    const int64_t bytes = mib << 20;
    uint8_t* memory = (uint8_t*)mapPages(bytes);
    const int inputs = 2048;
    for (const Kernels* k : available()) {
        if (k->isa == ISA_generic) continue;
        Threaded t(k, threads);
        memset(memory, 1, size_t(bytes));
        printf("%s, %d threads, %lld MiB of weights, plain reads beside every type\n", k->name, threads, (long long)mib);
        printf("%-8s %10s %6s %7s | %10s | %12s %12s %12s | share of the bytes of the stored type\n", "type", "1 row GB/s", "reads", "share", "8 rows", "32 rows",
               "128 rows", "512 rows GMAC/s");
        for (int type : types) {
            const int64_t row = rowBytes(type, inputs);
            int64_t outputs = bytes / row / 64 * 64;
            Random random(1);
            // One block pattern, repeated: contents do not matter for speed, but factors must be finite.
            const int64_t pattern = row * 64;
            const Stored blocks(t.c, type, 64, inputs, random);
            for (int64_t at = 0; at + pattern <= bytes; at += pattern) memcpy(memory + at, blocks.data(), size_t(pattern));
            std::vector<float> x(size_t(512) * inputs), out(size_t(512) * 4096 + size_t(8) * outputs);
            for (float& v : x) v = random.uniform();
            auto rate = [&](int64_t n, int rows, int repeats) {
                std::vector<double> times;
                for (int i = 0; i < repeats; i++) {
                    double start = seconds();
                    strata_cpu_matmul((int64_t)&t.c, type, (int64_t)memory, int32_t(n), inputs, 1, (int64_t)x.data(), rows, (int64_t)out.data(), 0);
                    times.push_back(seconds() - start);
                }
                return median(times);
            };
            const double ceiling = readBandwidth(t.c, memory, bytes);
            double one = double(outputs * row) / rate(outputs, 1, 9);
            double eight = double(outputs * row) / rate(outputs, 8, 3);
            double tile[3] = {};
            int rows[3] = {32, 128, 512};
            for (int i = 0; prompts && i < 3; i++) tile[i] = 1024.0 * inputs * rows[i] / rate(1024, rows[i], 3);
            printf("%-8s %10.2f %6.1f %6.0f%% | %10.2f | %12.1f %12.1f %12.1f | %6.0f%%\n", typeName(type), one / 1e9, ceiling / 1e9, 100 * one / ceiling,
                   eight / 1e9, tile[0] / 1e9, tile[1] / 1e9, tile[2] / 1e9, 100 * one / ceiling * double(rowBytes(type % PACKED, inputs)) / double(row));
            fflush(stdout);
        }
    }
    unmapPages(memory, bytes);
    return 0;
}

// Nanoseconds that the calling thread has run: other processes on the machine do not count.
double ownNanos() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

// Clock rate in GHz that the thread gets just now: dependent rotations (some processors do additions of constants on the side).
double clockRate() {
    double start = ownNanos();
    uint64_t x = 1;
    // Ten rotations a turn, so that the loop itself does not count.
#define TEN(s) s s s s s s s s s s
    for (int i = 0; i < 200'000; i++) asm volatile(TEN("ror $1, %0\n\t") : "+r"(x));
#undef TEN
    return 2'000'000 / (ownNanos() - start);
}

// Work of the kernels alone: weights that stay in the second cache, one thread, the best of some runs in clock cycles, from the
// thread's own time and the clock rate it gets.
int cached(int only) {
    double clock = 0;
    for (int i = 0; i < 50; i++) clock = std::max(clock, clockRate());
    for (const Kernels* k : available()) {
        if (k->isa == ISA_generic) continue;
        Context c(k, 1);
        printf("%s: one thread at %.2f GHz, weights in cache: cycles a block of 32 and bytes of weights a cycle; products a cycle by tiles\n", k->name, clock);
        printf("%-8s %16s | %8s %8s | %8s %8s %8s %8s\n", "type", "1 row: cyc B/cyc", "4 rows", "8 rows", "6 rows", "32 rows", "96 rows", "384 rows");
        for (int type : allTypes()) {
            if (only >= 0 && type != only) continue;
            const int inputs = 2048, outputs = 64;
            if (type >= PACKED && k->lanes == 0) continue;
            const int64_t row = rowBytes(type, inputs);
            Random random(1);
            const Stored w(c, type, outputs, inputs, random);
            std::vector<float> x(size_t(384) * inputs), out(size_t(384) * outputs);
            for (float& v : x) v = random.uniform();
            auto measure = [&](int rows, bool dot) {
                c.begin();
                Row* prepared = prepareRows(c, type, type, x.data(), rows, inputs);
                std::vector<float*> target;
                for (int r = 0; r < rows; r++) target.push_back(out.data() + r * outputs);
                double best = 1e30;
                // Several calls a measurement: the clock's own call takes as long as a tenth of one.
                const int calls = dot ? 16 : 1;
                for (int i = 0; i < (rows > 8 ? 20 : 50); i++) {
                    double start = ownNanos();
                    for (int j = 0; j < calls; j++) {
                        if (dot) k->dots[type](w.data(), row, outputs, inputs, prepared, rows, 1, false, target.data());
                        else productTiles(c, {type, w.data(), outputs, inputs, 1}, 0, outputs, prepared, rows, target.data(), 0);
                    }
                    best = std::min(best, (ownNanos() - start) / calls);
                }
                return best * clock / (double(outputs) * inputs / 32);
            };
            double one = measure(1, true), four = measure(4, true), eight = measure(8, true);
            printf("%-8s %7.2f %8.2f | %8.1f %8.1f |", typeName(type), one, double(row) / (inputs / 32) / one, four, eight);
            for (int rows : {6, 32, 96, 384}) printf(" %8.1f", 32.0 * rows / measure(rows, false));
            printf("\n");
            fflush(stdout);
        }
    }
    return 0;
}

// The routed experts of one layer as prompts and decode steps read them: thread time a token, and products a cycle.
int experts(int type, int rows) {
    const int hidden = 2048, intermediate = 768, count = 128, used = 8;
    for (const Kernels* k : available()) {
        if (k->isa == ISA_generic) continue;
        Context c(k, 1);
        const int64_t matrix = rowBytes(type, hidden) * intermediate;
        const int64_t bytes = matrix * 3 * count + 4096;
        uint8_t* w = (uint8_t*)mapPages(bytes);
        Random random(1);
        // One pattern for all: contents do not matter for speed.
        const Stored blocks(c, type, 64, hidden, random);
        for (int64_t at = 0; at < matrix * 3 * count; at += rowBytes(type, hidden) * 64) {
            memcpy(w + at, blocks.data(), size_t(std::min(rowBytes(type, hidden) * 64, matrix * 3 * count - at)));
        }
        std::vector<Expert> table(count);
        for (int e = 0; e < count; e++) {
            const uint8_t* p = w + matrix * 3 * e;
            table[e] = {p, p + matrix, p + 2 * matrix, 1, 1, 1, 0};
        }
        std::vector<int32_t> ids(size_t(rows) * used);
        std::vector<float> x(size_t(rows) * hidden), results(size_t(rows) * used * hidden);
        for (float& v : x) v = random.uniform();
        double best = 1e30;
        for (int i = 0; i < (rows <= 8 ? 64 : 3); i++) {
            // Other experts every time, so that their weights come from memory.
            for (int r = 0; r < rows; r++)
                for (int j = 0; j < used; j++) ids[size_t(r) * used + j] = int32_t((random.next() >> 20) % (count / used)) * used + j;
            double start = ownNanos();
            strata_cpu_expert_results((int64_t)&c, count, hidden, intermediate, type, type, type, (int64_t)table.data(),
                                      (int64_t)ids.data(), rows, used, (int64_t)x.data(), (int64_t)results.data());
            best = std::min(best, ownNanos() - start);
        }
        double products = 3.0 * hidden * intermediate * used * rows;
        printf("%s %s %d rows: %.3f ms a token, %.1f products a ns, %.1f GB/s if every choice is another expert\n", k->name, typeName(type),
               rows, best / rows / 1e6, products / best, double(matrix) * 3 * used * rows / best);
        unmapPages(w, bytes);
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count > 1 && strncmp(arguments[1], "isa=", 4) == 0) only = arguments[1] + 4, count--, arguments++;
    if (count > 1 && arguments[1][0] == 'k') return cached(count > 2 ? atoi(arguments[2]) : -1);
    if (count > 3 && arguments[1][0] == 'e') return experts(atoi(arguments[2]), atoi(arguments[3]));
    bool decode = count > 1 && arguments[1][0] == 'd', measure = decode || (count > 1 && arguments[1][0] == 'b');
    int result = 0;
    if (count == 1 || !measure) {
        checkPool();
        result = check();
    }
    if (count == 1 || measure) {
        int threads = count > 2 ? atoi(arguments[2]) : int(std::thread::hardware_concurrency());
        int64_t mib = count > 3 ? atoll(arguments[3]) : 512;
        std::vector<int> types;
        for (int i = 4; i < count; i++) types.push_back(atoi(arguments[i]));
        result |= bench(threads, mib, types.empty() ? allTypes() : types, !decode);
    }
    return result;
}
