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
// share_row (one row, all blocks plan for themselves): both of them in one kernel, so that a layer that misses nothing waits for one short kernel.
// The processor's experts are the first by rank. A missed expert that the host has guessed and is copying to a spare slot of its own (`coming`) counts
// as a hit there. Behind the pulls the routers of the next layer and of the one behind it are applied to this layer's row, their products in mapped
// memory, for the host to guess what those layers will miss. Every product carries the guess's number, so that the host sees without a fence which are there. Bytes: the
// routers, 8 an expert over the link.
// keep_blobs: copies what is kept of them to where it stays.
// sum_with_answer (few rows): the weighted sum over a row's experts, the processor's rows read where the host wrote them, once its number is there.
// add_answer: only the processor's rows of that sum, added to a residual that has the others already.
// await_answer (many rows, one block a pair): waits for the host's number and takes over the rows that the processor computed. Returns at once when
// nothing was asked. Bytes over the link: the pulled blobs, rows x columns x 4 out, and the processor's pairs x columns x 4 back.
#include "types.cuh"

#ifdef STRATA_EMULATED
#include <atomic>
STRATA_INLINE void fence_device() { std::atomic_thread_fence(std::memory_order_seq_cst); }
STRATA_INLINE void fence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
STRATA_INLINE u32 load_shared_word(const void* p) { return __atomic_load_n((const u32*)p, __ATOMIC_ACQUIRE); }
STRATA_INLINE void store_shared_word(void* p, u32 value) { __atomic_store_n((u32*)p, value, __ATOMIC_RELEASE); }
STRATA_INLINE Vec4 load_shared_4(const void* p) { return *(const Vec4*)p; }
STRATA_INLINE float load_shared_float(const void* p) { return *(const float*)p; }
STRATA_INLINE u64 device_nanos() { return 0; }
STRATA_INLINE void sleep_briefly() {}
#else
STRATA_INLINE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
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
    u32 next_spare;
    // The running guess: its tag, 0 where none runs, and how many there have been.
    u32 guess, guesses;
    // Blocks of share_row that have read the state.
    int arrivals;
    // The last guess number in whose layer block 0 has asked the processor.
    u32 told;
    u32 unused[5];
};

// What the host brings for a layer; dev.strata.decode.ComingExperts writes it, an entry when it begins with a blob. Valid where both tags are the running guess's. Low half
// of `what`: the expert, high half: its spare slot. The blob has arrived when the number behind it has, its ticket; those of later entries come later.
static const int MOST_COMING = 4;
struct Coming {
    u32 tag, what, ticket, tag_again;
};
static const int GUESSED_LAYER_BITS = 10, COMING_WORDS = MOST_COMING * sizeof(Coming) / 4;

// A note is an expert's number, and above these bits one more than the number of the spare slot that it was pulled into.
static const int NOTED_EXPERT_BITS = 16;

// The rest of a question, its number last. References, so that what they name is not read earlier.
STRATA_INLINE void put(Question* question, MeetingState* state, u32 number, int layer, int rows, int used, const int& count,
                       const int& linked) {
    question->layer = layer;
    question->rows = rows;
    question->used = used;
    question->count = count;
    question->linked = linked;
    fence_system();
    store_shared_word(&question->sequence, number);
    state->asked_at = device_nanos();
}

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
            state->guess = 0;
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
        put(question, state, number, layer, rows, used, asked[0], asked[1]);
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

struct ShareRow {
    const u64* table;
    const int* ids;
    int* notes;
    u64 cache, cache_bytes;
    const u16* shares;
    u64 spare, stride, blob_bytes, *planned;
    MeetingState* state;
    Question* question;
    const float* x;
    const Coming* coming;
    const u32* arrived;
    // Of the next layer and the one behind it, each guessed by half of the blocks.
    const u8* routers[2];
    u64 router_bytes, *products[2];
    int used, most_shared, spares, layer, columns, next_layer, next_experts[2], parts, blocks;
};

// Experts of a row, one a lane of the warp that plans, and warps of a block; dev.strata.cuda.MissKernels has the same.
static const int MOST_USED = 32, SHARE_WARPS = 16;

struct RowPlan {
    u32 words[COMING_WORDS], next_spare, guess, guesses, awaited;
    u64 from[MOST_USED], to[MOST_USED];
    int experts[MOST_USED], listed, linked, pulling, awaits;
    float partial[SHARE_WARPS];
};

// By one warp, a lane an expert. Block 0 tells what was planned and lets the next kernel in behind it, since that one reads the plan early.
STRATA_INLINE void plan_row(const ShareRow& given, RowPlan& plan) {
    int lane = threadIdx.x, e = lane < given.used ? given.ids[lane] : 0;
    u32 below = (1u << lane) - 1;
    if (lane < COMING_WORDS) {
        plan.words[lane] = given.coming ? load_shared_word((const u32*)given.coming + lane) : 0;
    } else if (lane == COMING_WORDS) {
        plan.next_spare = given.state->next_spare;
        plan.guess = given.state->guess;
        plan.guesses = given.state->guesses;
    }
    u64 address = lane < given.used ? given.table[e] : given.cache, read_at = address;
    warp_barrier();
    const Coming* c = (const Coming*)plan.words;
    bool out = address - given.cache >= given.cache_bytes;
    int note = e, number = -1;
#pragma unroll
    for (int i = 0; i < MOST_COMING; i++) {
        if (out && plan.guess != 0 && c[i].tag == plan.guess && c[i].tag_again == plan.guess && (int)(c[i].what & 0xffff) == e) {
            number = i;
        }
    }
    if (number >= 0) {
        u32 place = c[number].what >> 16;
        read_at = given.spare + place * given.stride;
        note |= (place + 1) << NOTED_EXPERT_BITS;
        out = false;
    }
    int last = -1;
#pragma unroll
    for (int i = 0; i < MOST_COMING; i++) {
        last = votes(number == i) != 0 ? i : last;
    }
    bool reachable = out && address != 0;
    u32 missed = votes(out), reachables = votes(reachable);
    int given_away = 0, unreachable = population(missed & ~reachables);
    if (given.most_shared > 0 && missed != 0) {
        given_away = max((int)given.shares[min(population(missed), given.most_shared)], unreachable);
    }
    bool taken = given.most_shared > 0 && out && (!reachable || population(reachables & below) < given_away - unreachable);
    u32 takens = votes(taken), links = votes(reachable && !taken);
    int index = population(links & below), linked = population(links);
    if (taken) {
        plan.experts[population(takens & below)] = e;
        read_at = 0;
    } else if (reachable && index < given.spares) {
        u32 slot = plan.next_spare + index;
        slot -= slot >= (u32)given.spares ? given.spares : 0;
        read_at = given.spare + slot * given.stride;
        note |= (slot + 1) << NOTED_EXPERT_BITS;
        plan.from[index] = address;
        plan.to[index] = read_at;
    }
    if (lane == 0) {
        plan.listed = population(takens);
        plan.linked = linked;
        plan.pulling = min(linked, given.spares);
        plan.awaits = last >= 0;
        plan.awaited = c[last < 0 ? 0 : last].ticket;
    }
    if (blockIdx.x == 0) {
        if (lane < given.used) {
            given.planned[e] = read_at;
            if (given.notes) {
                given.notes[lane] = note;
            }
        }
        fence_device();
        warp_barrier();
        if (lane == 0) {
            release_next_kernel();
        }
    }
}

// By block 0: the processor's part in mapped memory.
STRATA_INLINE void ask(const ShareRow& given, const RowPlan& plan) {
    Question* question = given.question;
    int t = threadIdx.x;
    if (t < given.used) {
        question->ids[t] = given.ids[t];
    }
    if (t < plan.listed) {
        question->experts[t] = plan.experts[t];
    }
    float* copy = (float*)(question + 1);
    for (int i = t; i < given.columns; i += blockDim.x) {
        copy[i] = given.x[i];
    }
    fence_system();
    __syncthreads();
    if (t == 0) {
        u32 number = given.state->sequence + 1;
        given.state->sequence = number;
        put(question, given.state, number, given.layer, 1, given.used, plan.listed, plan.linked);
        store_shared_word(&given.state->told, plan.guesses + 1);
    }
}

// Columns of a router's row that a warp keeps, eight a lane and step; `parts` warps share a row.
static const int GUESS_STEPS = 3;

template <class T>
STRATA_INLINE void share_row(const ShareRow& given, RowPlan& plan) {
    int t = threadIdx.x, warp = t >> 5, lane = t & 31, part = warp % given.parts, items = given.columns >> 3;
    int which = (int)blockIdx.x / given.blocks, block = (int)blockIdx.x % given.blocks, experts = given.next_experts[which];
    int expert = (block * SHARE_WARPS + warp) / given.parts;
    float weights[GUESS_STEPS][8], sum = 0.0f;
    auto item_of = [&](int j) { return lane + 32 * (part + given.parts * j); };
#pragma unroll
    for (int j = 0; j < GUESS_STEPS; j++) {
        int item = item_of(j);
        if (expert < experts && item < items) {
            Scale s = T::read(given.routers[which] + (u64)expert * given.router_bytes, item >> 2, item & 3, given.columns, weights[j]);
#pragma unroll
            for (int i = 0; i < 8; i++) {
                weights[j][i] *= s.scale;
            }
        }
    }
    wait_for_previous_kernel();
    if (blockIdx.x != 0) {
        release_next_kernel();
    }
    if (warp == 0) {
        plan_row(given, plan);
    }
    __syncthreads();
    u32 guesses = plan.guesses + 1, tag = given.next_layer > 0 ? guesses << GUESSED_LAYER_BITS | given.next_layer : 0;
    // Whoever comes last knows that all have read what it changes.
    if (t == 0 && arrive(&given.state->arrivals) == (int)gridDim.x - 1) {
        u32 after = plan.next_spare + plan.pulling;
        given.state->arrivals = 0;
        given.state->next_spare = after >= (u32)given.spares ? after - given.spares : after;
        given.state->guess = tag;
        given.state->guesses = guesses;
        given.state->asked = plan.listed > 0;
    }
    if (plan.listed > 0) {
        if (blockIdx.x == 0) {
            ask(given, plan);
        } else if (t == 0) {
            // Behind the reads of blobs the question would be as late as they are.
            while ((int)(load_shared_word(&given.state->told) - guesses) < 0) {
                sleep_briefly();
            }
        }
        __syncthreads();
    }
    for (int k = 0; k < plan.pulling; k++) {
        copy_blob((const Word4*)plan.from[k], (Word4*)plan.to[k], given.blob_bytes / 16);
    }
#pragma unroll
    for (int j = 0; j < GUESS_STEPS; j++) {
        int item = item_of(j);
        if (expert < experts && item < items) {
            const float* x = given.x + 32 * (item >> 2);
            Vec4 low = *(const Vec4*)(x + T::first(item & 3)), high = *(const Vec4*)(x + T::second(item & 3));
            sum += low.x * weights[j][0] + low.y * weights[j][1] + low.z * weights[j][2] + low.w * weights[j][3];
            sum += high.x * weights[j][4] + high.y * weights[j][5] + high.z * weights[j][6] + high.w * weights[j][7];
        }
    }
    sum = warp_sum(sum);
    if (lane == 0) {
        plan.partial[warp] = sum;
    }
    __syncthreads();
    int of_block = SHARE_WARPS / given.parts, mine = block * of_block + t;
    if (t < of_block && mine < experts) {
        float all = 0.0f;
        for (int i = 0; i < given.parts; i++) {
            all += plan.partial[t * given.parts + i];
        }
        *(volatile u64*)(given.products[which] + mine) = (u64)tag << 32 | bits_of(all);
    }
    if (blockIdx.x == 0 && t == 0 && plan.awaits) {
        while ((int)(load_shared_word(given.arrived) - plan.awaited) < 0) {
            sleep_briefly();
        }
    }
}

// T: type of the next layer's router; any where nothing is guessed. Two blocks fit a multiprocessor.
#define STRATA_SHARE_ROW(name, T)                                                                           \
    STRATA_RESIDENT_KERNEL(32 * SHARE_WARPS, 2, share_row_##name, const __grid_constant__ ShareRow given) { \
        __shared__ RowPlan plan;                                                                            \
        share_row<T>(given, plan);                                                                          \
    }
STRATA_SHARE_ROW(f32, TypeF32)
STRATA_SHARE_ROW(f16, TypeF16)
STRATA_SHARE_ROW(bf16, TypeBf16)
STRATA_SHARE_ROW(q8_0, TypeQ8_0)

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
