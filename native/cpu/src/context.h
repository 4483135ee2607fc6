// What one backend instance owns: the chosen kernels, the pool, scratch memory and the batch of the running pass.
#pragma once
#include <cstdint>
#include <cstring>

#include "kernels.h"
#include "pool.h"
#include "runs.h"

namespace strata {

// Memory of the system's huge pages where they can be had, zeroed.
void* mapPages(int64_t bytes);
void unmapPages(void* memory, int64_t bytes);

// The rows of one sequence in a pass; the record that Java writes (int32 fields in this order).
struct Segment {
    int32_t firstRow;
    int32_t rows;
    int32_t past;
    int32_t slot;
    int32_t pagesAt;  // index of its page list in the record
    int32_t reserved;
};

// A pass as Java writes it: header {rows, segments, hold, serial}, tokens, segments, page lists.
struct Batch {
    const int32_t* record;

    int rows() const { return record[0]; }
    int segments() const { return record[1]; }
    bool hold() const { return record[2] != 0; }
    int serial() const { return record[3]; }
    const int32_t* tokens() const { return record + 4; }
    const Segment& segment(int i) const { return ((const Segment*)(record + 4 + rows()))[i]; }
    const int32_t* pages(const Segment& s) const { return record + s.pagesAt; }
};

// The forms of up to MAX_DOT_ROWS activation rows that were quantized last, and the numbers that they stand for: the projections of one layer, or
// a router and its experts, read the same rows one operation after the other.
class KeptRows {
   public:
    ~KeptRows() { unmapPages(memory_, bytes_); }

    // Whether `x` has the numbers of the kept rows: comparing them takes a tenth of what quantizing takes.
    bool hold(const float* x, int rows, int columns) const {
        return rows == rows_ && columns == columns_ && memcmp(x, numbers_, size_t(rows) * columns * 4) == 0;
    }
    // The forms; valid until the next room().
    const Row& row(int r) const { return row_[r]; }

    // Memory for other forms, `bytes` in all; nothing is kept then.
    uint8_t* room(int64_t bytes, int rows, int columns);
    // Keeps the forms that `forms` points to, made of x in the memory that room() gave.
    void keep(const Row* forms, const float* x, int rows, int columns);

   private:
    Row row_[MAX_DOT_ROWS] = {};
    int rows_ = 0;
    int columns_ = 0;
    float* numbers_ = nullptr;
    uint8_t* memory_ = nullptr;
    int64_t bytes_ = 0;
};

class Context {
   public:
    Context(const Kernels* kernels, int threads);
    ~Context();

    const Kernels& k;
    Pool pool;
    KeptRows kept;

    // Starts an operation: all earlier scratch is free again.
    void begin() { used_ = 0; }
    // 64-byte aligned, valid until the next begin().
    void* take(int64_t bytes);
    float* floats(int64_t n) { return (float*)take(n * 4); }
    // Memory of one worker, WORKER_BYTES.
    float* worker(int index) { return (float*)(workers_ + index * WORKER_BYTES); }

    // Splits `rows` rows that cost about `cost` simple operations each into chunks for the pool.
    template <class F>
    void rows(int64_t rows, int64_t cost, const F& f) {
        int64_t each = cost >= 16384 ? 1 : 16384 / (cost > 0 ? cost : 1);
        if (each * 4096 < rows) each = (rows + 4095) / 4096;
        int chunks = int((rows + each - 1) / each);
        pool.run(chunks, [&](int chunk, int worker) {
            int64_t end = (chunk + 1) * each < rows ? (chunk + 1) * each : rows;
            for (int64_t r = chunk * each; r < end; r++) f(int(r), worker);
        });
    }

    // cos and sin of every row of the pass for the given frequencies: [rows][2][pairs].
    const float* rotations(const Batch& batch, const double* frequencies, int pairs, float magnitude);

    static constexpr int64_t WORKER_BYTES = 4 << 20;

   private:
    struct Piece {
        uint8_t* memory;
        int64_t bytes;
    };
    // Scratch grows by new pieces, so that what was handed out stays where it is; begin() starts over with them.
    static constexpr int MAX_PIECES = 40;
    Piece pieces_[MAX_PIECES] = {};
    int64_t used_ = 0;
    uint8_t* workers_;
    float* rotations_ = nullptr;
    int64_t rotationBytes_ = 0;
    int rotationSerial_ = -1;
    const double* rotationOf_ = nullptr;
};

}  // namespace strata
