// Work on whole rows: norms, sums, copies, and what the hyper-connection modules do between their products.
//
// Layout: float32, row-major. Bytes moved: every input once, every output once. No tiling: memory-bound throughout.
#include "strata.cuh"

// RMS norm of runs of `group` values; one block a run. `norm` repeats every norm_columns values. out may be in.
STRATA_KERNEL(1024, rms_norm, const float* in, const float* norm, int columns, int group, int norm_columns, float epsilon,
              float* out) {
    __shared__ float partial[32];
    wait_for_previous_kernel();
    release_next_kernel();
    long long start = (long long)blockIdx.x * group;
    int column = (int)(start % columns);
    float squares = 0.0f;
    for (int i = threadIdx.x; i < group; i += blockDim.x) {
        float v = in[start + i];
        squares += v * v;
    }
    float factor = 1.0f / sqrtf(block_sum(squares, partial) / group + epsilon);
    for (int i = threadIdx.x; i < group; i += blockDim.x) {
        out[start + i] = in[start + i] * factor * norm[(column + i) % norm_columns];
    }
}

// Takes part in overlapped launches and does nothing: to measure what a launch costs.
STRATA_KERNEL(32, nothing, int unused) {
    wait_for_previous_kernel();
    release_next_kernel();
}

// Zeros by a kernel: unlike a fill of the driver it takes part in overlapped launches.
STRATA_KERNEL(256, zero_words, u32* to, long long count) {
    wait_for_previous_kernel();
    release_next_kernel();
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        to[i] = 0;
    }
}

STRATA_KERNEL(256, add_rows, const float* addend, float* into, long long count) {
    wait_for_previous_kernel();
    release_next_kernel();
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        into[i] += addend[i];
    }
}

STRATA_KERNEL(256, repeat_rows, const float* in, int columns, int times, long long count, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        out[i] = in[i / ((long long)columns * times) * columns + i % columns];
    }
}

STRATA_KERNEL(256, concatenate_rows, const float* left, int left_columns, const float* right, int right_columns,
              long long count, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    int columns = left_columns + right_columns;
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        long long row = i / columns;
        int k = (int)(i % columns);
        out[i] = k < left_columns ? left[row * left_columns + k] : right[row * right_columns + k - left_columns];
    }
}

// One block a row of out.
STRATA_KERNEL(256, gather_rows, const float* in, const int* rows, int columns, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    const float* from = in + (long long)rows[blockIdx.x] * columns;
    float* to = out + (long long)blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += 256) {
        to[i] = from[i];
    }
}

// One block a segment: its last row.
STRATA_KERNEL(256, gather_last_rows, const float* in, const int* first_rows, const int* counts, int columns, float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    const float* from = in + (long long)(first_rows[blockIdx.x] + counts[blockIdx.x] - 1) * columns;
    float* to = out + (long long)blockIdx.x * columns;
    for (int i = threadIdx.x; i < columns; i += 256) {
        to[i] = from[i];
    }
}

// h = silu(gate) * up
STRATA_KERNEL(256, silu_multiply, const float* gate, const float* up, float* h, long long count) {
    wait_for_previous_kernel();
    release_next_kernel();
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        h[i] = silu(gate[i]) * up[i];
    }
}

// out[row][c] = mean over streams of sigmoid(gates[row][s][c]) * normed[row][s][c]
STRATA_KERNEL(256, hyper_combine, const float* gates, const float* normed, int streams, int hidden, long long count,
              float* out) {
    wait_for_previous_kernel();
    release_next_kernel();
    if ((hidden & 3) == 0) {
        for (long long i = 4 * ((long long)blockIdx.x * 256 + threadIdx.x); i < count; i += 4 * (long long)gridDim.x * 256) {
            long long row = i / hidden;
            const float* gate = gates + row * streams * hidden + (i - row * hidden);
            const float* value = normed + row * streams * hidden + (i - row * hidden);
            Vec4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 4
            for (int s = 0; s < streams; s++) {
                Vec4 g = *(const Vec4*)(gate + s * hidden), v = *(const Vec4*)(value + s * hidden);
                sum.x += sigmoid(g.x) * v.x;
                sum.y += sigmoid(g.y) * v.y;
                sum.z += sigmoid(g.z) * v.z;
                sum.w += sigmoid(g.w) * v.w;
            }
            *(Vec4*)(out + i) = Vec4{sum.x / streams, sum.y / streams, sum.z / streams, sum.w / streams};
        }
        return;
    }
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        long long base = i / hidden * streams * hidden + i % hidden;
        float sum = 0.0f;
        for (int s = 0; s < streams; s++) {
            long long at = base + (long long)s * hidden;
            sum += sigmoid(gates[at]) * normed[at];
        }
        out[i] = sum / streams;
    }
}

// residual[row][s][c] += inject[row][s] * y[row][c]
STRATA_KERNEL(256, hyper_inject, const float* y, const float* inject, int streams, int hidden, long long count,
              float* residual) {
    wait_for_previous_kernel();
    release_next_kernel();
    if ((hidden & 3) == 0) {
        for (long long i = 4 * ((long long)blockIdx.x * 256 + threadIdx.x); i < count; i += 4 * (long long)gridDim.x * 256) {
            long long group = i / hidden;
            float factor = inject[group];
            Vec4 more = *(const Vec4*)(y + group / streams * hidden + (i - group * hidden));
            Vec4* to = (Vec4*)(residual + i);
            Vec4 now = *to;
            *to = Vec4{now.x + factor * more.x, now.y + factor * more.y, now.z + factor * more.z, now.w + factor * more.w};
        }
        return;
    }
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count; i += (long long)gridDim.x * 256) {
        long long group = i / hidden;
        residual[i] += inject[group] * y[group / streams * hidden + i % hidden];
    }
}

// The last `keep` rows of a sequence's inputs become its state [slot][keep][columns]. Segment g has counts[g] rows from row
// first_rows[g] on. One thread a column: rows move towards the front, so in place is safe.
STRATA_KERNEL(256, shift_rows, const float* from, const int* first_rows, const int* counts, const int* slots, int columns,
              int keep, float* state) {
    wait_for_previous_kernel();
    release_next_kernel();
    int column = blockIdx.x * 256 + threadIdx.x, segment = blockIdx.y;
    if (column >= columns) {
        return;
    }
    int count = counts[segment];
    const float* rows = from + (long long)first_rows[segment] * columns + column;
    float* own = state + (long long)slots[segment] * keep * columns + column;
    for (int j = 0; j < keep; j++) {
        int source = count - keep + j;
        own[(long long)j * columns] =
            source >= 0 ? rows[(long long)source * columns] : own[(long long)(keep + source) * columns];
    }
}

// Copies of up to three arrays, one behind the other: what a held pass remembers.
STRATA_KERNEL(256, keep_values, const float* a, float* to_a, long long count_a, const float* b, float* to_b, long long count_b,
              const float* c, float* to_c, long long count_c) {
    wait_for_previous_kernel();
    release_next_kernel();
    for (long long i = (long long)blockIdx.x * 256 + threadIdx.x; i < count_a + count_b + count_c; i += (long long)gridDim.x * 256) {
        if (i < count_a) {
            to_a[i] = a[i];
        } else if (i < count_a + count_b) {
            to_b[i - count_a] = b[i - count_a];
        } else {
            to_c[i - count_a - count_b] = c[i - count_a - count_b];
        }
    }
}

// Index and value of the largest entry of every row, the lower index among equals. One block a row.
STRATA_KERNEL(1024, largest, const float* values, int columns, int* index, float* value) {
    __shared__ float best[32];
    __shared__ int best_at[32];
    wait_for_previous_kernel();
    release_next_kernel();
    const float* row = values + (long long)blockIdx.x * columns;
    float top = -INFINITY;
    int at = 0x7fffffff;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        if (row[i] > top) {
            top = row[i];
            at = i;
        }
    }
    for (int distance = 16; distance > 0; distance >>= 1) {
        float other = exchange_xor(top, distance);
        int other_at = exchange_xor(at, distance);
        if (other > top || (other == top && other_at < at)) {
            top = other;
            at = other_at;
        }
    }
    if ((threadIdx.x & 31) == 0) {
        best[threadIdx.x >> 5] = top;
        best_at[threadIdx.x >> 5] = at;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < (int)(blockDim.x + 31) / 32; w++) {
            if (best[w] > top || (best[w] == top && best_at[w] < at)) {
                top = best[w];
                at = best_at[w];
            }
        }
        index[blockIdx.x] = at;
        value[blockIdx.x] = top;
    }
}
