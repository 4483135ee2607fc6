// Missed experts of a decode step: who computes which, the card's share brought over the link, and the meeting with the host.
//
// share_misses (one block a layer): the routed experts of a pass split into residents (their address lies in the cache), those that the
// processor takes, and those that the card takes. `planned` gets the address by which products read each routed expert: a slot, a spare
// slot that pull_blobs fills, mapped memory, or 0 for the processor's. Spare slots are taken in turn over all layers of a pass, so that a blob stays
// where it is until as many others have come; `notes` tell the host where, for it to keep some. With experts for the processor the block writes the question
// (chosen experts, ids, rows) to mapped memory and raises its number last. The split depends on the number of misses alone, so it
// needs no answer: `shares[misses]` experts go to the processor, those that no kernel can reach first, then by ascending number.
// With `tail` above 0 a missed expert that every row ranks at `tail` or later is left out: its pairs get the row's first expert with weight 0.
// pull_blobs: reads the card's missed blobs once over the link, 16 bytes a thread and load, whatever the number of rows that use them.
// keep_blobs: copies what is kept of them to where it stays.
// sum_with_answer (few rows): the weighted sum over a row's experts, the processor's rows read where the host wrote them, once its number is there.
// add_answer: only the processor's rows of that sum, added to a residual that has the others already.
// await_answer (many rows, one block a pair): waits for the host's number and takes over the rows that the processor computed. Returns at once when
// nothing was asked. Bytes over the link: the pulled blobs, rows x columns x 4 out, and the processor's pairs x columns x 4 back.
#include "strata.cuh"

#ifdef STRATA_EMULATED
#include <atomic>
STRATA_INLINE void fence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
STRATA_INLINE u32 load_shared_word(const void* p) { return __atomic_load_n((const u32*)p, __ATOMIC_ACQUIRE); }
STRATA_INLINE void store_shared_word(void* p, u32 value) { __atomic_store_n((u32*)p, value, __ATOMIC_RELEASE); }
STRATA_INLINE Vec4 load_shared_4(const void* p) { return *(const Vec4*)p; }
STRATA_INLINE float load_shared_float(const void* p) { return *(const float*)p; }
STRATA_INLINE u64 device_nanos() { return 0; }
STRATA_INLINE void sleep_briefly() {}
#else
STRATA_INLINE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
STRATA_INLINE u32 load_shared_word(const void* p) {
    u32 value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}
STRATA_INLINE void store_shared_word(void* p, u32 value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
// Volatile: a line read for an earlier answer must not be taken from the first-level cache.
STRATA_INLINE Vec4 load_shared_4(const void* p) {
    Vec4 v;
    asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}
STRATA_INLINE float load_shared_float(const void* p) {
    float value;
    asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(value) : "l"(p) : "memory");
    return value;
}
STRATA_INLINE u64 device_nanos() {
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
STRATA_INLINE void sleep_briefly() { asm volatile("nanosleep.u32 50;"); }
#endif

static const int MOST_EXPERTS = 1024, MOST_PAIRS = 512;

// What the card asks, in mapped memory; dev.strata.decode.Question reads it.
struct Question {
    u32 sequence, layer, rows, used, count, linked, timed, link_nanos;
    u32 unused[8];
    int experts[MOST_EXPERTS];
    int ids[MOST_PAIRS];
};

// What kernels of one pass tell one another, in device memory.
struct MeetingState {
    u32 sequence, asked;
    u64 asked_at;
    u32 next_spare, unused[3];
};

// A note is an expert's number, and above these bits one more than the number of the spare slot that it was pulled into.
static const int NOTED_EXPERT_BITS = 16;

STRATA_KERNEL(256, share_misses, const u64* table, int* ids, int* notes, float* weights, int tail, int pairs, int used, u64 cache,
              u64 cache_bytes, const u16* shares, int most_shared, u64 spare, u64 stride, int spares, int experts, int layer, u64* planned,
              u64* pulls, MeetingState* state, Question* question, const float* x, int columns) {
    __shared__ u64 addresses[MOST_EXPERTS];
    __shared__ u8 routed[MOST_EXPERTS];
    __shared__ u16 pulled[MOST_EXPERTS], chosen[MOST_PAIRS];
    __shared__ int asked[2];
    wait_for_previous_kernel();
    release_next_kernel();
    // All at once: the one warp that goes through them would wait for memory again and again.
    for (int e = threadIdx.x; e < experts; e += blockDim.x) {
        routed[e] = 0;
        pulled[e] = 0;
        addresses[e] = table[e];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        chosen[i] = ids[i];
        if (tail == 0 || i % used < tail) {
            routed[ids[i]] = 1;
        }
    }
    __syncthreads();
    if (tail > 0) {
        for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
            // All threads that see the same expert here write the same.
            if (routed[ids[i]] != 1) {
                routed[ids[i]] = addresses[ids[i]] - cache < cache_bytes ? 1 : 2;
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
            if (routed[ids[i]] == 2) {
                ids[i] = ids[i / used * used];
                weights[i] = 0;
            }
        }
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        int lane = threadIdx.x, missed = 0, unreachable = 0;
        for (int base = 0; base < experts; base += 32) {
            int e = base + lane;
            bool wanted = e < experts && routed[e] == 1;
            u64 address = wanted ? addresses[e] : 0;
            bool out = wanted && address - cache >= cache_bytes;
            missed += population(votes(out));
            unreachable += population(votes(out && address == 0));
        }
        int given = 0;
        if (most_shared > 0) {
            given = shares[missed < most_shared ? missed : most_shared];
            given = given < unreachable ? unreachable : given;
        }
        int open = given - unreachable, seen = 0, listed = 0, linked = 0;
        u32 below = (1u << lane) - 1, next = state->next_spare;
        for (int base = 0; base < experts; base += 32) {
            int e = base + lane;
            bool wanted = e < experts && routed[e] == 1;
            u64 address = wanted ? addresses[e] : 0;
            bool out = wanted && address - cache >= cache_bytes, reachable = out && address != 0;
            u32 reachables = votes(reachable);
            bool taken = most_shared > 0 && out && (!reachable || seen + population(reachables & below) < open);
            u32 takens = votes(taken);
            if (taken) {
                question->experts[listed + population(takens & below)] = e;
            }
            bool link = reachable && !taken;
            u32 links = votes(link);
            int place = linked + population(links & below);
            u64 read_at = taken ? 0 : address;
            if (link && place < spares) {
                u32 slot = (next + place) % spares;
                read_at = spare + slot * stride;
                pulled[e] = slot + 1;
                pulls[1 + 2 * place] = address;
                pulls[2 + 2 * place] = read_at;
            }
            if (wanted) {
                planned[e] = read_at;
            }
            seen += population(reachables);
            listed += population(takens);
            linked += population(links);
        }
        if (lane == 0) {
            int pulling = linked < spares ? linked : spares;
            pulls[0] = pulling;
            if (pulling > 0) {
                state->next_spare = (next + pulling) % spares;
            }
            asked[0] = listed;
            asked[1] = linked;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; notes && i < pairs; i += blockDim.x) {
        notes[i] = chosen[i] | pulled[chosen[i]] << NOTED_EXPERT_BITS;
    }
    if (asked[0] == 0) {
        if (threadIdx.x == 0) {
            state->asked = 0;
        }
        return;
    }
    int rows = pairs / used;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        question->ids[i] = ids[i];
    }
    float* copy = (float*)(question + 1);
    for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) {
        copy[i] = x[i];
    }
    fence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 number = state->sequence + 1;
        state->sequence = number;
        state->asked = 1;
        question->layer = layer;
        question->rows = rows;
        question->used = used;
        question->count = asked[0];
        question->linked = asked[1];
        fence_system();
        store_shared_word(&question->sequence, number);
        state->asked_at = device_nanos();
    }
}

// A blob by all blocks: a multiprocessor has room for few reads over the link at a time, so that one blob needs many of them.
STRATA_INLINE void copy_blob(const Word4* from, Word4* to, u64 words) {
    u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < words; i += 4 * step) {
        Word4 v[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (i + j * step < words) {
                v[j] = read_16(from + i + j * step);
            }
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (i + j * step < words) {
                to[i + j * step] = v[j];
            }
        }
    }
}

// `pulls`: how many, then for each where it lies and where it goes. `bytes` is a multiple of 16.
STRATA_KERNEL(512, pull_blobs, const u64* pulls, u64 bytes) {
    wait_for_previous_kernel();
    release_next_kernel();
    int count = (int)pulls[0];
    for (int k = 0; k < count; k++) {
        copy_blob((const Word4*)pulls[1 + 2 * k], (Word4*)pulls[2 + 2 * k], bytes / 16);
    }
}

// Blobs from one place of the device's memory to another; `list`, in mapped memory, has from, to and bytes of each. Outside of passes.
STRATA_KERNEL(512, keep_blobs, const u64* list, int count) {
    wait_for_previous_kernel();
    for (int k = 0; k < count; k++) {
        copy_blob((const Word4*)list[3 * k], (Word4*)list[3 * k + 1], list[3 * k + 2] / 16);
    }
}

STRATA_KERNEL(256, await_answer, const int* ids, const u64* planned, const MeetingState* state, Question* question,
              const u8* answer, int columns, float* results) {
    wait_for_previous_kernel();
    release_next_kernel();
    if (state->asked == 0) {
        return;
    }
    int pair = blockIdx.x;
    u32 number = state->sequence;
    if (pair == 0 && threadIdx.x == 0) {
        question->link_nanos = (u32)(device_nanos() - state->asked_at);
        question->timed = number;
    }
    if (planned[ids[pair]] != 0) {
        return;
    }
    if (threadIdx.x == 0) {
        while ((int)(load_shared_word(answer) - number) < 0) {
            sleep_briefly();
        }
    }
    __syncthreads();
    const float* from = (const float*)(answer + 64) + (long long)pair * columns;
    float* to = results + (long long)pair * columns;
    if ((columns & 3) == 0) {
        for (int k = 4 * threadIdx.x; k < columns; k += 4 * blockDim.x) {
            *(Vec4*)(to + k) = load_shared_4(from + k);
        }
    } else {
        for (int k = threadIdx.x; k < columns; k += blockDim.x) {
            to[k] = load_shared_float(from + k);
        }
    }
}

// Finds the rows of a row's results that the processor computed and waits for them; `rows` and `remote` are in shared memory.
STRATA_INLINE void meet(const int* ids, const u64* planned, const MeetingState* state, Question* question, const u8* answer,
                        const float* results, int used, int columns, const float** rows, u8* remote) {
    int row = blockIdx.x;
    bool asked = state->asked != 0;
    u32 number = state->sequence;
    if (asked && row == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
        question->link_nanos = (u32)(device_nanos() - state->asked_at);
        question->timed = number;
    }
    if ((int)threadIdx.x < used) {
        int pair = row * used + threadIdx.x;
        bool there = asked && planned[ids[pair]] == 0;
        remote[threadIdx.x] = there;
        rows[threadIdx.x] = (there ? (const float*)(answer + 64) : results) + (long long)pair * columns;
        if (there) {
            while ((int)(load_shared_word(answer) - number) < 0) {
                sleep_briefly();
            }
        }
    }
    __syncthreads();
}

static const int MOST_CHOSEN = 64;

// out[row] = sum over j of weights[row][j] * result of the pair, in the order of the routing. grid (rows, columns / 256).
STRATA_KERNEL(256, sum_with_answer, const int* ids, const u64* planned, const MeetingState* state, Question* question,
              const u8* answer, const float* results, const float* weights, int used, int columns, float* out) {
    __shared__ const float* rows[MOST_CHOSEN];
    __shared__ u8 remote[MOST_CHOSEN];
    wait_for_previous_kernel();
    release_next_kernel();
    meet(ids, planned, state, question, answer, results, used, columns, rows, remote);
    int row = blockIdx.x, k = blockIdx.y * 256 + threadIdx.x;
    if (k < columns) {
        float sum = 0.0f;
        for (int j = 0; j < used; j++) {
            float value = remote[j] ? load_shared_float(rows[j] + k) : rows[j][k];
            sum += weights[row * used + j] * value;
        }
        out[(long long)row * columns + k] = sum;
    }
}

// Residual stream s of row += strengths[row][s] * sum over the processor's j of weights[row][j] * result; one stream of strength 1 without
// strengths. grid (rows, columns / 256).
STRATA_KERNEL(256, add_answer, const int* ids, const u64* planned, const MeetingState* state, Question* question,
              const u8* answer, const float* weights, int used, int columns, const float* strengths, int streams, float* into) {
    __shared__ const float* rows[MOST_CHOSEN];
    __shared__ u8 remote[MOST_CHOSEN];
    wait_for_previous_kernel();
    release_next_kernel();
    if (state->asked == 0) {
        return;
    }
    meet(ids, planned, state, question, answer, nullptr, used, columns, rows, remote);
    int row = blockIdx.x, k = blockIdx.y * 256 + threadIdx.x;
    if (k >= columns) {
        return;
    }
    float sum = 0.0f;
    for (int j = 0; j < used; j++) {
        if (remote[j]) {
            sum += weights[row * used + j] * load_shared_float(rows[j] + k);
        }
    }
    if (strengths == nullptr) {
        into[(long long)row * columns + k] += sum;
        return;
    }
    for (int s = 0; s < streams; s++) {
        into[((long long)row * streams + s) * columns + k] += strengths[row * streams + s] * sum;
    }
}
