// The n-gram layer behind its two products.
//
// ngram_gate: a block a (row, stream): norms of key and residual, their product, the gated value, which is added to the residual stream and,
//   normed, written for the convolution. ngram_convolve: a thread a (row, channel), taps `dilation` tokens apart, over the rows of the pass
//   and the state [slot][(kernel - 1) * dilation][channels] before them. Bytes moved: every input once (taps from the caches).
#include "strata.cuh"

STRATA_KERNEL(256, ngram_gate, const float* key, const float* value, const float* norm_key, const float* norm_query,
              const float* norm_convolution, int streams, int hidden, float epsilon, float* residual, float* normed) {
    __shared__ float partial[32];
    wait_for_previous_kernel();
    int stream = blockIdx.x % streams, row = blockIdx.x / streams;
    long long base = (long long)blockIdx.x * hidden;
    const float* v = value + (long long)row * hidden;
    int norm = stream * hidden;
    float kk = 0.0f, qq = 0.0f, kq = 0.0f, vv = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += 256) {
        float k = key[base + i], q = residual[base + i];
        kk += k * k;
        qq += q * q;
        kq += k * norm_key[norm + i] * (q * norm_query[norm + i]);
        vv += v[i] * v[i];
    }
    kk = block_sum(kk, partial);
    qq = block_sum(qq, partial);
    kq = block_sum(kq, partial);
    vv = block_sum(vv, partial);
    float score = kq / (sqrtf(kk / hidden + epsilon) * sqrtf(qq / hidden + epsilon)) / sqrtf((float)hidden);
    float root = sqrtf(fmaxf(fabsf(score), 1e-6f));
    float gate = sigmoid(score > 0.0f ? root : score < 0.0f ? -root : 0.0f);
    float factor = gate / sqrtf(gate * gate * vv / hidden + epsilon);
    for (int i = threadIdx.x; i < hidden; i += 256) {
        residual[base + i] += gate * v[i];
        normed[base + i] = v[i] * factor * norm_convolution[norm + i];
    }
}

STRATA_KERNEL(256, ngram_convolve, const float* normed, const float* taps, const float* state, const int* first_rows,
              const int* counts, const int* slots, int channels, int kernel, int dilation, int rows_each,
              float* residual) {
    wait_for_previous_kernel();
    int channel = blockIdx.x * 256 + threadIdx.x, segment = blockIdx.z;
    int begin = blockIdx.y * rows_each, end = min(counts[segment], begin + rows_each);
    if (channel >= channels) {
        return;
    }
    int keep = (kernel - 1) * dilation;
    const float* in = normed + (long long)first_rows[segment] * channels + channel;
    const float* past = state + (long long)slots[segment] * keep * channels + channel;
    float* to = residual + (long long)first_rows[segment] * channels + channel;
    for (int t = begin; t < end; t++) {
        float sum = 0.0f;
        for (int j = 0; j < kernel; j++) {
            int source = t - (kernel - 1 - j) * dilation;
            float v = source >= 0 ? in[(long long)source * channels] : past[(long long)(keep + source) * channels];
            sum += taps[channel * kernel + j] * v;
        }
        to[(long long)t * channels] += silu(sum);
    }
}
