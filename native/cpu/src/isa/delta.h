// The gated delta rule, token after token, on a block of value columns small enough for the first cache (columns are independent).
//
// Per token: m = S^T k and r = S^T q in one read of S, d = beta (v - g m), out = g r + (k . q) d, S = g S + k d^T in a second pass.
// Bytes moved: the state once in and out for all tokens of the run.
#pragma once
#include "../kernels.h"
#include "../runs.h"

namespace strata::STRATA_NS {

template <int V>
static void deltaColumns(const DeltaRun* run, float* s) {
    constexpr int C = V * W;
    for (int t = 0; t < run->tokens; t++) {
        const float* q = run->q + t * run->keyStride;
        const float* k = run->k + t * run->keyStride;
        float decay = run->decay[t * run->gateStride];
        float beta = run->beta[t * run->gateStride];
        VF m[V], r[V];
        STRATA_UNROLL
        for (int i = 0; i < V; i++) m[i] = r[i] = vzero();
        for (int j = 0; j < run->keySize; j++) {
            VF kj = vset(k[j]), qj = vset(q[j]);
            STRATA_UNROLL
            for (int i = 0; i < V; i++) {
                VF x = vload(s + j * C + i * W);
                m[i] = vfma(x, kj, m[i]);
                r[i] = vfma(x, qj, r[i]);
            }
        }
        float kq = dot(k, q, run->keySize);
        VF g = vset(decay);
        VF d[V];
        const float* v = run->v + t * run->valueStride;
        float* out = run->out + t * run->outStride;
        STRATA_UNROLL
        for (int i = 0; i < V; i++) {
            int n = run->columns - i * W;
            VF value = n >= W ? vload(v + i * W) : n > 0 ? loadSome(v + i * W, n) : vzero();
            d[i] = vmul(vset(beta), vsub(value, vmul(g, m[i])));
            VF o = vfma(vset(kq), d[i], vmul(g, r[i]));
            if (n >= W) vstore(out + i * W, o);
            else if (n > 0) storeSome(out + i * W, o, n);
        }
        for (int j = 0; j < run->keySize; j++) {
            VF kj = vset(k[j]);
            STRATA_UNROLL
            for (int i = 0; i < V; i++) {
                float* x = s + j * C + i * W;
                vstore(x, vfma(kj, d[i], vmul(g, vload(x))));
            }
        }
    }
}

static void delta(const DeltaRun* run) {
    int vectors = (run->columns + W - 1) / W;
    // The kernels are made for 1, 2, 4 and 8 vectors.
    vectors = vectors > 4 ? 8 : vectors > 2 ? 4 : vectors;
    int stride = vectors * W;
    float* s = run->scratch;
    for (int j = 0; j < run->keySize; j++) {
        memcpy(s + j * stride, run->state + j * run->stateStride, size_t(run->columns) * 4);
        for (int i = run->columns; i < stride; i++) s[j * stride + i] = 0;
    }
    switch (vectors) {
        case 1: deltaColumns<1>(run, s); break;
        case 2: deltaColumns<2>(run, s); break;
        case 4: deltaColumns<4>(run, s); break;
        default: deltaColumns<8>(run, s); break;
    }
    if (!run->keep) return;
    for (int j = 0; j < run->keySize; j++) {
        memcpy(run->state + j * run->stateStride, s + j * stride, size_t(run->columns) * 4);
    }
}

}  // namespace strata::STRATA_NS
