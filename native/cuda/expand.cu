// Operands of the tensor cores: stored matrices and activations as float16.
//
// Layout: [rows][padded columns], zeros behind the columns. Tiling: a thread eight weights or two activations.
// Bytes moved: the input once, 2 bytes a value out. A matrix has fewer than 2^32 of what threads take.
#include "types.cuh"

// Stored rows.
//
// One thread a quarter (eight weights, 16 bytes out). grid.y counts matrices: with a table, matrix y lies `offset` bytes into the blob
// of expert first + y (left out when the table holds 0 or `counts` says that no row wants it) and has its factor `tail` bytes into it
// (0: none). `interleave` 1 and 2 put octets of rows at even and odd places, so that gate and up rows of the same outputs end up in
// the same tile of a product.
template <class T>
STRATA_INLINE void expand(const u64* table, const int* counts, int first, u64 offset, u64 tail, const u8* weights,
                          u64 row_bytes, int rows, int columns, int padded, u16* out, u64 stride, float scale,
                          int interleave) {
    wait_for_previous_kernel();
    int matrix = blockIdx.y;
    if (table != nullptr) {
        u64 blob = table[first + matrix];
        if (blob == 0 || (counts != nullptr && counts[first + matrix] == 0)) {
            return;
        }
        weights = (const u8*)(blob + offset);
        if (tail != 0) {
            scale *= *(const float*)(blob + tail);
        }
    }
    out += stride * matrix;
    long long quarters = (long long)rows * (padded >> 3);
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < quarters;
         i += (long long)gridDim.x * blockDim.x) {
        // Division of 64 bits would take longer than the rest.
        int row = (int)((u32)i / (u32)(padded >> 3));
        int q = (int)((u32)i - (u32)row * (u32)(padded >> 3));
        int group = q >> 2, quarter = q & 3;
        float v[8];
        Scale s = {0.0f, 0.0f};
        if (32 * group < columns) {
            s = T::read(weights + row * row_bytes, group, quarter, columns, v);
        } else {
            for (int j = 0; j < 8; j++) {
                v[j] = 0.0f;
            }
        }
        for (int j = 0; j < 8; j++) {
            v[j] = scale * (s.scale * v[j] + s.offset);
        }
        int target = interleave == 0 ? row : 16 * (row >> 3) + (row & 7) + (interleave == 2 ? 8 : 0);
        u16* to = out + (long long)target * padded + 32 * group;
        Word2 low = {half2_in_range(v[0], v[1]), half2_in_range(v[2], v[3])};
        Word2 high = {half2_in_range(v[4], v[5]), half2_in_range(v[6], v[7])};
        *(Word2*)(to + T::first(quarter)) = low;
        *(Word2*)(to + T::second(quarter)) = high;
    }
}

#define EXPAND(name, T)                                                                                              \
    STRATA_KERNEL(256, expand_##name, const u64* table, const int* counts, int first, u64 offset, u64 tail,          \
                  const u8* weights, u64 row_bytes, int rows, int columns, int padded, u16* out, u64 stride,         \
                  float scale, int interleave) {                                                                     \
        expand<T>(table, counts, first, offset, tail, weights, row_bytes, rows, columns, padded, out, stride, scale, \
                  interleave);                                                                                       \
    }

EACH_STORED_TYPE(EXPAND)

// Activations as float16, [rows][padded], zeros behind the columns. One thread two values.
STRATA_KERNEL(256, round_rows, const float* x, int rows, int columns, int padded, u16* out) {
    wait_for_previous_kernel();
    long long pairs = (long long)rows * (padded >> 1);
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < pairs;
         i += (long long)gridDim.x * blockDim.x) {
        int row = (int)((u32)i / (u32)(padded >> 1)), k = (int)((u32)i - (u32)row * (u32)(padded >> 1)) * 2;
        const float* from = x + (long long)row * columns;
        float low = k < columns ? from[k] : 0.0f, high = k + 1 < columns ? from[k + 1] : 0.0f;
        ((u32*)out)[i] = half2_in_range(low, high);
    }
}

// Values as sums of two float16: [rows][3][padded] of high, low, high parts (for activations) or high, high, low (for weights). A product
// of the two over 3 x padded columns lacks only low x low, 2^-22 of it. One thread two values.
STRATA_KERNEL(256, split_rows, const float* x, int rows, int columns, int padded, int weights, u16* out) {
    wait_for_previous_kernel();
    int half = padded >> 1;
    long long pairs = (long long)rows * half;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < pairs;
         i += (long long)gridDim.x * blockDim.x) {
        long long row = (u32)i / (u32)half;
        int k = (int)((u32)i - (u32)row * (u32)half) * 2;
        const float* from = x + row * columns;
        float first = k < columns ? from[k] : 0.0f, second = k + 1 < columns ? from[k + 1] : 0.0f;
        u32 high = half2_in_range(first, second);
        u32 low = half2_in_range(first - from_half((u16)high), second - from_half((u16)(high >> 16)));
        u32* to = (u32*)out + row * 3 * half + (k >> 1);
        to[0] = high;
        to[half] = weights ? high : low;
        to[2 * half] = weights ? low : high;
    }
}
