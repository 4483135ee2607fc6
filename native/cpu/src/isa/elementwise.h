// Kernels over single rows: norms, activations, softmax, convolution.
#pragma once
#include <cstring>

#include "../kernels.h"

namespace strata::STRATA_NS {

static inline VF loadSome(const float* p, int n) {
    float t[W] = {};
    memcpy(t, p, size_t(n) * 4);
    return vload(t);
}
static inline void storeSome(float* p, VF a, int n) {
    float t[W];
    vstore(t, a);
    memcpy(p, t, size_t(n) * 4);
}

// y[i] = f(i-th vectors of a and b)
template <class F>
static inline void map(const float* a, const float* b, int n, float* y, F f) {
    int i = 0;
    for (; i + W <= n; i += W) vstore(y + i, f(vload(a + i), vload(b + i)));
    if (i < n) storeSome(y + i, f(loadSome(a + i, n - i), loadSome(b + i, n - i)), n - i);
}

// exp(x) to 2 units in the last place: x = n ln 2 + r, a polynomial of degree 6 in r.
static inline VF vexp(VF x) {
    x = vmin(vmax(x, vset(-87.3f)), vset(88.3f));
    VF n = vround(vmul(x, vset(1.44269504f)));
    VF r = vfma(n, vset(-0.693359375f), x);
    r = vfma(n, vset(2.12194440e-4f), r);
    VF p = vset(1.0f / 720);
    p = vfma(p, r, vset(1.0f / 120));
    p = vfma(p, r, vset(1.0f / 24));
    p = vfma(p, r, vset(1.0f / 6));
    p = vfma(p, r, vset(0.5f));
    p = vfma(p, r, vset(1.0f));
    p = vfma(p, r, vset(1.0f));
    // 2^n in two steps: n may be 127 or -126.
    VF half = vround(vmul(n, vset(0.5f)));
    return vmul(vmul(p, vpow2(half)), vpow2(vsub(n, half)));
}

static inline VF vsigmoid(VF x) { return vdiv(vset(1), vadd(vset(1), vexp(vsub(vzero(), x)))); }

static float dot(const float* a, const float* b, int n) {
    VF s0 = vzero(), s1 = vzero();
    int i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
        s0 = vfma(vload(a + i), vload(b + i), s0);
        s1 = vfma(vload(a + i + W), vload(b + i + W), s1);
    }
    for (; i + W <= n; i += W) s0 = vfma(vload(a + i), vload(b + i), s0);
    if (i < n) s1 = vfma(loadSome(a + i, n - i), loadSome(b + i, n - i), s1);
    return vsum(vadd(s0, s1));
}

static float sumSquares(const float* a, int n) { return dot(a, a, n); }

// out = x * factor * w
static void normalise(const float* x, const float* w, float factor, int n, float* out) {
    VF f = vset(factor);
    map(x, w, n, out, [f](VF a, VF b) { return vmul(vmul(a, f), b); });
}

static void add(const float* x, int n, float* y) {
    map(x, y, n, y, [](VF a, VF b) { return vadd(a, b); });
}

// y += a x
static void axpy(float a, const float* x, int n, float* y) {
    VF f = vset(a);
    map(x, y, n, y, [f](VF u, VF v) { return vfma(f, u, v); });
}

static void scale(float a, int n, float* y) {
    VF f = vset(a);
    map(y, y, n, y, [f](VF u, VF) { return vmul(f, u); });
}

static void siluMultiply(const float* gate, const float* up, int n, float* out) {
    map(gate, up, n, out, [](VF g, VF u) { return vmul(vmul(g, vsigmoid(g)), u); });
}

// x = silu(factor x)
static void silu(float factor, int n, float* x) {
    VF f = vset(factor);
    map(x, x, n, x, [f](VF a, VF) {
        VF s = vmul(a, f);
        return vmul(s, vsigmoid(s));
    });
}

// x *= sigmoid(gate)
static void sigmoidMultiply(const float* gate, int n, float* x) {
    map(gate, x, n, x, [](VF g, VF a) { return vmul(vsigmoid(g), a); });
}

static float highest(const float* x, int n) {
    VF most = vset(-3.4e38f);
    int i = 0;
    for (; i + W <= n; i += W) most = vmax(most, vload(x + i));
    float result = vhighest(most);
    for (; i < n; i++) result = x[i] > result ? x[i] : result;
    return result;
}

// x = exp(x - max); returns the sum.
static float softmax(float* x, int n) {
    VF most = vset(highest(x, n));
    VF sum = vzero();
    int i = 0;
    for (; i + W <= n; i += W) {
        VF e = vexp(vsub(vload(x + i), most));
        vstore(x + i, e);
        sum = vadd(sum, e);
    }
    float total = vsum(sum);
    if (i < n) {
        storeSome(x + i, vexp(vsub(loadSome(x + i, n - i), most)), n - i);
        for (; i < n; i++) total += x[i];
    }
    return total;
}

// out = silu(sum over j of weights[j] * taps[j])
static void convolve(const float* const* taps, const float* const* weights, int kernel, int n, float* out) {
    auto piece = [&](int i, auto load) {
        VF sum = vmul(load(taps[0] + i), load(weights[0] + i));
        for (int j = 1; j < kernel; j++) sum = vfma(load(taps[j] + i), load(weights[j] + i), sum);
        return vmul(sum, vsigmoid(sum));
    };
    int i = 0;
    for (; i + W <= n; i += W) vstore(out + i, piece(i, [](const float* p) { return vload(p); }));
    if (i < n) storeSome(out + i, piece(i, [n, i](const float* p) { return loadSome(p, n - i); }), n - i);
}

// out[i] = mean over streams s of sigmoid(gates[s n + i]) * normed[s n + i]
static void mixStreams(const float* normed, float* gates, int streams, int n, float* out) {
    VF factor = vset(1.0f / float(streams));
    for (int s = 0; s < streams; s++) {
        map(gates + int64_t(s) * n, normed + int64_t(s) * n, n, gates + int64_t(s) * n,
            [](VF g, VF x) { return vmul(vsigmoid(g), x); });
        if (s > 0) add(gates + int64_t(s) * n, n, gates);
    }
    map(gates, gates, n, out, [factor](VF a, VF) { return vmul(a, factor); });
}

static void fillElementwise(Kernels* k) {
    k->dot = dot;
    k->sumSquares = sumSquares;
    k->normalise = normalise;
    k->add = add;
    k->axpy = axpy;
    k->scale = scale;
    k->siluMultiply = siluMultiply;
    k->silu = silu;
    k->sigmoidMultiply = sigmoidMultiply;
    k->softmax = softmax;
    k->convolve = convolve;
    k->mixStreams = mixStreams;
}

}  // namespace strata::STRATA_NS
