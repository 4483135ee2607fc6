// Threads of one emulated block as fibers on one host thread, and the warp-wide instructions.
//
// A fiber runs until it meets a barrier. A warp's exchange is complete when all its live lanes have published; values are
// double-buffered, so that one meeting a use suffices. Stacks are reused from block to block.
#include "emulator/launcher.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

// Saves the callee-saved registers and the stack pointer of one fiber and takes up another.
extern "C" void strata_switch(void** save, void* load);

namespace emulator {

Triple thread_index, block_index, block_size, grid_size;

namespace {

constexpr size_t STACK_BYTES = 96 * 1024;

enum class Wait { NONE, WARP, BLOCK, OTHERS, DONE };

struct Fiber {
    void* stack_pointer = nullptr;
    unsigned char* stack = nullptr;
    Wait wait = Wait::DONE;
    Triple index{};
    unsigned parity = 0;
};

struct Warp {
    alignas(64) unsigned char values[2][32 * STRIDE];
};

std::vector<Fiber> fibers;
std::vector<Warp> warps;
std::vector<unsigned char> shared_memory;

// Barriers of part of a block: threads that have come, meetings that are over.
struct Meeting {
    int come = 0;
    unsigned over = 0;
};
std::map<int, Meeting> meetings;
std::map<const void*, int> missing;
constexpr long MOST_ROUNDS = 10000000;
void* scheduler_stack_pointer;
Fiber* current;
const Launch* running;

asm(R"(
.text
.globl strata_switch
.type strata_switch,@function
strata_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size strata_switch,.-strata_switch
)");

void give_way(Wait wait) {
    current->wait = wait;
    strata_switch(&current->stack_pointer, scheduler_stack_pointer);
    thread_index = current->index;
}

void fiber_main() {
    thread_index = current->index;
    running->call(running->kernel, running->arguments.data());
    give_way(Wait::DONE);
    std::abort();
}

void prepare(Fiber& fiber, unsigned linear) {
    if (!fiber.stack) {
        fiber.stack = static_cast<unsigned char*>(std::aligned_alloc(64, STACK_BYTES));
    }
    void** top = reinterpret_cast<void**>(fiber.stack + STACK_BYTES - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&fiber_main);
    for (int i = 0; i < 6; i++) {
        *--top = nullptr;
    }
    fiber.stack_pointer = top;
    fiber.wait = Wait::NONE;
    fiber.parity = 0;
    fiber.index = {linear % block_size.x, linear / block_size.x % block_size.y, linear / (block_size.x * block_size.y)};
}

void resume(Fiber& fiber) {
    current = &fiber;
    strata_switch(&scheduler_stack_pointer, fiber.stack_pointer);
}

[[noreturn]] void stuck(const char* what) {
    std::fprintf(stderr, "emulator: %s in kernel %s, block (%u, %u, %u)\n", what, running->name.c_str(), block_index.x,
                 block_index.y, block_index.z);
    std::abort();
}

// Runs the lanes of one warp until all of them wait for the block or are done.
void run_warp(unsigned first, unsigned end) {
    for (;;) {
        unsigned at_warp = 0, at_block = 0, giving_way = 0;
        for (unsigned i = first; i < end; i++) {
            if (fibers[i].wait == Wait::NONE) {
                resume(fibers[i]);
            }
            at_warp += fibers[i].wait == Wait::WARP;
            at_block += fibers[i].wait == Wait::BLOCK;
            giving_way += fibers[i].wait == Wait::OTHERS;
        }
        if (at_warp == 0 || giving_way != 0) {
            return;
        }
        if (at_block != 0) {
            stuck("lanes of one warp wait at different barriers");
        }
        for (unsigned i = first; i < end; i++) {
            if (fibers[i].wait == Wait::WARP) {
                fibers[i].wait = Wait::NONE;
            }
        }
    }
}

void run_block(unsigned threads) {
    for (unsigned i = 0; i < threads; i++) {
        prepare(fibers[i], i);
    }
    missing.clear();
    meetings.clear();
    for (long rounds = 0;; rounds++) {
        unsigned waiting = 0, giving_way = 0;
        for (unsigned first = 0; first < threads; first += 32) {
            run_warp(first, std::min(first + 32, threads));
        }
        for (unsigned i = 0; i < threads; i++) {
            waiting += fibers[i].wait == Wait::BLOCK;
            giving_way += fibers[i].wait == Wait::OTHERS;
        }
        if (giving_way != 0) {
            if (rounds > MOST_ROUNDS) {
                stuck("threads that wait for each other");
            }
            for (unsigned i = 0; i < threads; i++) {
                if (fibers[i].wait == Wait::OTHERS) {
                    fibers[i].wait = Wait::NONE;
                }
            }
            continue;
        }
        if (waiting == 0) {
            return;
        }
        for (unsigned i = 0; i < threads; i++) {
            if (fibers[i].wait == Wait::BLOCK) {
                fibers[i].wait = Wait::NONE;
            }
        }
    }
}

}  // namespace

void block_barrier() { give_way(Wait::BLOCK); }

const unsigned char* exchange(const void* value, int bytes) {
    unsigned linear = (unsigned)(current - fibers.data());
    Warp& warp = warps[linear / 32];
    unsigned char* values = warp.values[current->parity];
    current->parity ^= 1;
    std::memcpy(values + (linear % 32) * STRIDE, value, bytes);
    give_way(Wait::WARP);
    return values;
}

void yield() { give_way(Wait::OTHERS); }

void meet(int number, int threads) {
    Meeting& meeting = meetings[number];
    unsigned before = meeting.over;
    if (++meeting.come == threads) {
        meeting.come = 0;
        meeting.over++;
        return;
    }
    while (meeting.over == before) {
        yield();
    }
}

int& missing_bytes(const void* barrier) { return missing[barrier]; }

unsigned char* dynamic_shared() {
    uintptr_t base = reinterpret_cast<uintptr_t>(shared_memory.data());
    return reinterpret_cast<unsigned char*>((base + 1023) / 1024 * 1024);
}

void run(const Launch& launch) {
    running = &launch;
    block_size = launch.block;
    grid_size = launch.grid;
    unsigned threads = launch.block.x * launch.block.y * launch.block.z;
    if (fibers.size() < threads) {
        fibers.resize(threads);
    }
    if (warps.size() < (threads + 31) / 32) {
        warps.resize((threads + 31) / 32);
    }
    shared_memory.assign(launch.shared_bytes + 1280, 0xcd);
    for (unsigned z = 0; z < launch.grid.z; z++) {
        for (unsigned y = 0; y < launch.grid.y; y++) {
            for (unsigned x = 0; x < launch.grid.x; x++) {
                block_index = {x, y, z};
                run_block(threads);
            }
        }
    }
}

}  // namespace emulator

using namespace emulator;

namespace {

struct RowAddress {
    const unsigned char* row;
};

uint16_t element(const unsigned char* row, int column) {
    uint16_t value;
    std::memcpy(&value, row + 2 * column, 2);
    return value;
}

void load(uint32_t out[4], const void* shared, bool transposed) {
    if (reinterpret_cast<uintptr_t>(shared) % 16 != 0) {
        std::fprintf(stderr, "emulator: ldmatrix from an address that is no multiple of 16\n");
        std::abort();
    }
    RowAddress mine{static_cast<const unsigned char*>(shared)};
    const unsigned char* all = exchange(&mine, sizeof mine);
    int lane = thread_index.x & 31;
    for (int matrix = 0; matrix < 4; matrix++) {
        uint32_t pair = 0;
        for (int i = 0; i < 2; i++) {
            int row = transposed ? 2 * (lane % 4) + i : lane / 4;
            int column = transposed ? lane / 4 : 2 * (lane % 4) + i;
            pair |= (uint32_t)element(lane_value<RowAddress>(all, 8 * matrix + row).row, column) << (16 * i);
        }
        out[matrix] = pair;
    }
}

// A lane's part of both operands, converted once for the lanes that read it.
struct Operands {
    float a[4][2], b[2][2];
};
static_assert(sizeof(Operands) <= STRIDE);

// A lane's bytes of both operands.
struct ByteOperands {
    uint32_t a[4], b[2];
};
static_assert(sizeof(ByteOperands) <= STRIDE);

int byte_of(uint32_t word, int i, bool with_sign) {
    uint32_t byte = word >> (8 * i) & 255u;
    return with_sign ? (int)(int8_t)byte : (int)byte;
}

}  // namespace

void multiply_bytes_of(bool a_signed, bool b_signed, int c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    ByteOperands mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
    const unsigned char* all = exchange(&mine, sizeof mine);
    int lane = thread_index.x & 31;
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
        for (int k = 0; k < 32; k++) {
            const ByteOperands left = lane_value<ByteOperands>(all, 4 * (row % 8) + k % 16 / 4);
            const ByteOperands right = lane_value<ByteOperands>(all, 4 * column + k % 16 / 4);
            c[i] += byte_of(left.a[row / 8 + 2 * (k / 16)], k % 4, a_signed) * byte_of(right.b[k / 16], k % 4, b_signed);
        }
    }
}

void load_matrices(uint32_t out[4], const void* shared) { load(out, shared, false); }
void load_matrices_transposed(uint32_t out[4], const void* shared) { load(out, shared, true); }
void multiply_f16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
    Operands mine;
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 4; i++) {
            mine.a[i][half] = from_half((uint16_t)(a[i] >> (16 * half)));
        }
        mine.b[0][half] = from_half((uint16_t)(b0 >> (16 * half)));
        mine.b[1][half] = from_half((uint16_t)(b1 >> (16 * half)));
    }
    const unsigned char* all = exchange(&mine, sizeof mine);
    int lane = thread_index.x & 31;
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
        const unsigned char* left = all + 4 * (row % 8) * STRIDE + offsetof(Operands, a) + row / 8 * sizeof(float[2]);
        const unsigned char* right = all + 4 * column * STRIDE + offsetof(Operands, b);
        double sum = c[i];
        for (int k = 0; k < 16; k++) {
            float x, y;
            std::memcpy(&x, left + k % 8 / 2 * STRIDE + (2 * (k / 8) * 2 + k % 2) * sizeof(float), sizeof x);
            std::memcpy(&y, right + k % 8 / 2 * STRIDE + (k / 8 * 2 + k % 2) * sizeof(float), sizeof y);
            sum += (double)x * y;
        }
        c[i] = (float)sum;
    }
}
