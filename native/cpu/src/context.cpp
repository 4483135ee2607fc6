#include "context.h"

#include <sys/mman.h>

#include <cmath>
#include <cstdlib>

namespace strata {

namespace {
constexpr int64_t HUGE_PAGE = 2 << 20;
int64_t roundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
}  // namespace

void* mapPages(int64_t bytes) {
    int64_t size = roundUp(bytes, HUGE_PAGE);
    // Reserve more than needed and give back what lies outside the aligned range.
    uint8_t* base = (uint8_t*)mmap(nullptr, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) abort();
    uint8_t* start = (uint8_t*)roundUp((int64_t)base, HUGE_PAGE);
    if (start > base) munmap(base, start - base);
    if (start < base + HUGE_PAGE) munmap(start + size, base + HUGE_PAGE - start);
    madvise(start, size, MADV_HUGEPAGE);
    return start;
}

void unmapPages(void* memory, int64_t bytes) {
    if (memory) munmap(memory, roundUp(bytes, HUGE_PAGE));
}

uint8_t* KeptRows::room(int64_t bytes, int rows, int columns) {
    rows_ = 0;
    const int64_t numbers = roundUp(int64_t(rows) * columns * 4, 64);
    if (numbers + bytes > bytes_) {
        unmapPages(memory_, bytes_);
        bytes_ = roundUp(numbers + bytes, HUGE_PAGE);
        memory_ = (uint8_t*)mapPages(bytes_);
    }
    numbers_ = (float*)memory_;
    return memory_ + numbers;
}

void KeptRows::keep(const Row* forms, const float* x, int rows, int columns) {
    memcpy(numbers_, x, size_t(rows) * columns * 4);
    for (int r = 0; r < rows; r++) row_[r] = forms[r];
    rows_ = rows;
    columns_ = columns;
}

Context::Context(const Kernels* kernels, int threads) : k(*kernels), pool(threads) {
    workers_ = (uint8_t*)mapPages(WORKER_BYTES * threads);
}

Context::~Context() {
    unmapPages(workers_, WORKER_BYTES * pool.threads());
    for (Piece& piece : pieces_) unmapPages(piece.memory, piece.bytes);
    unmapPages(rotations_, rotationBytes_);
}

void* Context::take(int64_t bytes) {
    int64_t size = roundUp(bytes > 0 ? bytes : 1, 64);
    int64_t start = 0;
    for (Piece& piece : pieces_) {
        if (!piece.memory) {
            piece.bytes = roundUp(size > 16 * HUGE_PAGE ? size : 16 * HUGE_PAGE, HUGE_PAGE);
            if (piece.bytes < start) piece.bytes = roundUp(start, HUGE_PAGE);
            piece.memory = (uint8_t*)mapPages(piece.bytes);
        }
        int64_t from = used_ > start ? used_ : start;
        if (from + size <= start + piece.bytes) {
            used_ = from + size;
            return piece.memory + (from - start);
        }
        start += piece.bytes;
    }
    abort();  // pieces double: 40 of them exceed any address space
}

const float* Context::rotations(const Batch& batch, const double* frequencies, int pairs, float magnitude) {
    if (batch.serial() == rotationSerial_ && frequencies == rotationOf_) return rotations_;
    int64_t bytes = int64_t(batch.rows()) * 2 * pairs * 4;
    if (bytes > rotationBytes_) {
        unmapPages(rotations_, rotationBytes_);
        rotationBytes_ = bytes;
        rotations_ = (float*)mapPages(bytes);
    }
    for (int i = 0; i < batch.segments(); i++) {
        const Segment& segment = batch.segment(i);
        rows(segment.rows, pairs * 64, [&](int r, int) {
            float* target = rotations_ + int64_t(segment.firstRow + r) * 2 * pairs;
            for (int p = 0; p < pairs; p++) {
                double angle = (segment.past + r) * frequencies[p];
                target[p] = float(cos(angle)) * magnitude;
                target[pairs + p] = float(sin(angle)) * magnitude;
            }
        });
    }
    rotationSerial_ = batch.serial();
    rotationOf_ = frequencies;
    return rotations_;
}

}  // namespace strata
