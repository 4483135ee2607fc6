// Products with packed matrices (packed.h) of up to 8 activation rows.
//
// A vector of codes has 4 inputs of as many outputs as it has lanes, so an activation's pair (or four bytes) goes to all lanes by a load alone, sums of a block need no
// shuffle, and factors are one vector for all outputs of a group. Codes become values by one byte shuffle. Counted for AVX2 and one row, 4 bits, a block of 32: 1.5
// operations to take half bytes apart, 1 to look up, 2 to widen, 4 to multiply and add, 0.9 for factors. Bytes moved: the matrix once as one stream, prefetched (prefetchRun).
#pragma once
#include <type_traits>

#include "float_products.h"

namespace strata::STRATA_NS {

// The codes of a block: step(i) gives those of inputs 4 i ... 4 i + 3.
template <int BITS>
struct Vectors {
    VI vectors[BITS];
    explicit Vectors(const uint8_t* p) {
        STRATA_UNROLL
        for (int i = 0; i < BITS; i++) vectors[i] = iload(p + i * 4 * W);
    }
};
// With half bytes, alone or below further bits.
template <int BITS>
struct HalfBytes : Vectors<BITS> {
    using Vectors<BITS>::Vectors;
    inline VI half(int i) const { return iand(i < 4 ? this->vectors[i] : ishr16(this->vectors[i - 4], 4), iset8(15)); }
};
template <int BITS>
struct Codes;
template <>
struct Codes<4> : HalfBytes<4> {
    using HalfBytes<4>::HalfBytes;
    inline VI step(int i) const { return half(i); }
};
template <>
struct Codes<5> : HalfBytes<5> {
    using HalfBytes<5>::HalfBytes;
    inline VI step(int i) const {
        const VI fifth = i < 4 ? ishl16(vectors[4], 4 - i) : ishr16(vectors[4], i - 4);
        return ior(half(i), iand(fifth, iset8(16)));
    }
};
template <>
struct Codes<6> : HalfBytes<6> {
    using HalfBytes<6>::HalfBytes;
    inline VI step(int i) const {
        const VI both = vectors[4 + i / 4];
        const VI high = i % 4 < 2 ? ishl16(both, 4 - i % 4 * 2) : ishr16(both, i % 4 * 2 - 4);
        return ior(half(i), iand(high, iset8(0x30)));
    }
};
template <>
struct Codes<3> : Vectors<3> {
    using Vectors<3>::Vectors;
    inline VI step(int i) const {
        if (i < 6) return iand(ishr16(vectors[i / 2], i % 2 * 3), iset8(7));
        return ior(iand(ishr16(vectors[i - 6], 6), iset8(3)), iand(ishr16(vectors[2], i - 2), iset8(4)));
    }
};
template <>
struct Codes<2> : Vectors<2> {
    using Vectors<2>::Vectors;
    inline VI step(int i) const { return iand(ishr16(vectors[i / 4], i % 4 * 2), iset8(3)); }
};

// The factors of a run's blocks; of(block, half) is called once for each, in order. Where WHOLE, all of them are to be multiplied with `whole`.
template <Factors FACTORS>
struct RunFactors;
template <>
struct RunFactors<FACTORS_E8> {
    static constexpr bool WHOLE = false;
    const uint8_t* p;
    RunFactors(const uint8_t* run, float) : p(run) {}
    // 2^(e - 128); what is below the smallest normal number is taken for 0.
    inline VF of(int block, int) { return ibits(ishl32(isub32(ilarger32(ibytes(p + block * W), iset32(1)), iset32(1)), 23)); }
};
template <>
struct RunFactors<FACTORS_UE4M3> {
    static constexpr bool WHOLE = false;
    const uint8_t* p;
    RunFactors(const uint8_t* run, float) : p(run) {}
    // Half the value: exponent and mantissa in their float32 places are 2^120 below it.
    inline VF of(int block, int half) { return vmul(ibits(ishl32(ibytes(p + (2 * block + half) * W), 20)), vset(0x1p119f)); }
};
template <>
struct RunFactors<FACTORS_HALF64> {
    static constexpr bool WHOLE = false;
    const uint8_t* p;
    RunFactors(const uint8_t* run, float) : p(run) {}
    inline VF of(int block, int) { return vloadHalf((const uint16_t*)p + block / 2 * W); }
};
template <>
struct RunFactors<FACTORS_HALF32> {
    static constexpr bool WHOLE = false;
    const uint8_t* p;
    RunFactors(const uint8_t* run, float) : p(run) {}
    inline VF of(int block, int) { return vloadHalf((const uint16_t*)p + block * W); }
};
// One factor for the run.
struct WholeFactor {
    static constexpr bool WHOLE = true;
    const uint8_t* p;  // what follows it
    VF whole;
    WholeFactor(const uint8_t* run, float unit) : p(run + 2 * W), whole(vmul(vloadHalf((const uint16_t*)run), vset(unit))) {}
};
template <>
struct RunFactors<FACTORS_ODD32> : WholeFactor {
    VI codes;
    RunFactors(const uint8_t* run, float unit) : WholeFactor(run, unit), codes(iload(p)) {}
    inline VF of(int, int) {
        const VF s = vodd(codes);
        codes = ishr32(codes, 4);
        return s;
    }
};
template <>
struct RunFactors<FACTORS_ODD16> : WholeFactor {
    VI codes;
    using WholeFactor::WholeFactor;
    inline VF of(int block, int half) {
        if (half == 0) {
            if (block % 4 == 0) codes = iload(p + block * W);
            return vodd(codes);
        }
        const VF s = voddNext(codes);
        codes = ishr32(codes, 8);
        return s;
    }
};
template <>
struct RunFactors<FACTORS_SIGNED> : WholeFactor {
    using WholeFactor::WholeFactor;
    inline VF of(int block, int) { return ifloat(isigned(p + block * W)); }
};
template <>
struct RunFactors<FACTORS_SIGNED16> : WholeFactor {
    using WholeFactor::WholeFactor;
    inline VF of(int block, int half) { return ifloat(isigned(p + (2 * block + half) * W)); }
};
template <>
struct RunFactors<FACTORS_MINIMA> : WholeFactor {
    WholeFactor least;  // of what is subtracted
    VI bytes, low;
    RunFactors(const uint8_t* run, float unit) : WholeFactor(run, unit), least(p, -unit), low(iload(least.p + 8 * W)) {}
    inline VF of(int block, int) {
        bytes = ibytes(least.p + block * W);
        return ifloat(iand(bytes, iset32(63)));
    }
    // Of the block whose factor was asked for last.
    inline VF minimum() {
        const VI high = iand(ishr32(bytes, 2), iset32(0x30)), both = ior(high, iand(low, iset32(15)));
        low = ishr32(low, 4);
        return ifloat(both);
    }
};
// The factors themselves, and the minima, negative.
template <class T>
struct FullFactors {
    RunFactors<T::FACTORS> factors;
    explicit FullFactors(const uint8_t* run) : factors(run, T::UNIT) {}
    inline VF minimum() { return vmul(factors.least.whole, factors.minimum()); }
    inline VF of(int block, int half) {
        if constexpr (RunFactors<T::FACTORS>::WHOLE) return vmul(factors.whole, factors.of(block, half));
        else return factors.of(block, half);
    }
};

// The values of codes with OFFSET added, so that they need no sign.
struct alignas(16) UnsignedValues {
    int8_t at[64] = {};
    int offset = 0;
    bool same = true;  // as the codes
    constexpr UnsignedValues(const int8_t* values, int count) {
        for (int i = 0; i < count; i++) offset = -values[i] > offset ? -values[i] : offset;
        for (int i = 0; i < count; i++) {
            at[i] = int8_t(values[i] + offset);
            same = same && at[i] == i;
        }
    }
};

template <int B, Factors F>
struct PackedType {
    static constexpr int BITS = B;
    static constexpr Factors FACTORS = F;
    static constexpr int HALVES = F == FACTORS_UE4M3 || F == FACTORS_ODD16 || F == FACTORS_SIGNED16 ? 2 : 1;
    static constexpr bool HAS_MIN = F == FACTORS_MINIMA;
    static constexpr int FACTOR_BYTES = W * factorBytes(F), BLOCK_BYTES = W * 4 * B;
    // Where the codes of a group begin.
    static inline int64_t codesAt(int64_t rowBytes) { return W * allFactors(rowBytes / (codeBytes(B) + factorBytes(F)), factorBytes(F)); }
};
#define X(name, bits, factors, unit, values)                                     \
    struct Packed##name : PackedType<bits, factors> {                            \
        static constexpr float UNIT = unit;                                      \
        static constexpr UnsignedValues CODED{values, 1 << bits};                \
        static inline const int8_t* signedValues() { return values; }            \
    };
STRATA_PACKED(X)
#undef X

// Unsigned bytes of a step's inputs, OFFSET above their values.
#ifdef STRATA_VBMI
// Bits of the second where those of the third are set, of the first elsewhere, as `vpternlog` takes it.
constexpr int CHOOSE = 0xd8;
// A permutation of 64 bytes looks at 6 bits: tables for the codes at every place in them, so that most codes need neither shift nor mask.
template <class T>
struct StepBytes {
    static constexpr int PLACES = T::BITS >= 4 ? 1 : 6 / T::BITS;
    VI tables[PLACES];
    VI apart;  // by the bits 0, 1 and 3

    StepBytes() {
        alignas(64) int8_t entries[64];
        for (int place = 0; place < PLACES; place++) {
            for (int i = 0; i < 64; i++) entries[i] = T::CODED.at[(i >> (T::BITS * place)) & ((1 << T::BITS) - 1)];
            tables[place] = iload(entries);
        }
        for (int i = 0; i < 64; i++) entries[i] = T::CODED.at[(i & 3) | (i >> 1 & 4)];
        apart = iload(entries);
    }
    inline VI of(const Codes<T::BITS>& codes, int i) const {
        if constexpr (T::BITS > 4) return codes.step(i);
        else if constexpr (T::BITS == 4) return _mm512_permutexvar_epi8(i < 4 ? codes.vectors[i] : ishr16(codes.vectors[i - 4], 4), tables[0]);
        else if (T::BITS == 3 && i < 6) return _mm512_permutexvar_epi8(codes.vectors[i / 2], tables[i % 2]);
        else if (T::BITS == 3) {
            // Two bits of one vector, and the third, bit 2 or 3, of another.
            const __m512i low = ishr16(codes.vectors[i - 6], 6), high = ishr16(codes.vectors[2], 4);
            return _mm512_permutexvar_epi8(_mm512_ternarylogic_epi32(low, high, iset8(i == 6 ? 4 : 8), CHOOSE), i == 6 ? tables[0] : apart);
        } else if (i % 4 < 3) return _mm512_permutexvar_epi8(codes.vectors[i / 4], tables[i % 4]);
        else return _mm512_permutexvar_epi8(ishr16(codes.vectors[i / 4], 6), tables[0]);
    }
};
#else
template <class T>
struct StepBytes {
    VI table = itable(T::CODED.at);
    inline VI of(const Codes<T::BITS>& codes, int i) const { return T::CODED.same ? codes.step(i) : ilookup(table, codes.step(i)); }
};
#endif

// Where the sums of a run's halves (or blocks, at every second place) begin, so that what was added to the codes' values comes off.
template <class T, int R>
struct Starts {
    alignas(64) int32_t at[R][RUN_INPUTS / 16];
    Starts(const Row* x, int block) {
        for (int r = 0; r < R; r++) {
            for (int i = 0; i < RUN_INPUTS / 16; i += W) {
                VI totals = iload(x[r].totals + 2 * block + i);
                if (T::HALVES == 1) totals = iadd(totals, ishr64(totals));
                istore(at[r] + i, imultiply32(totals, iset32(-T::CODED.offset)));
            }
        }
    }
};

// The sum of products of one activation row in every lane. Where rows are read as bytes their high and low ones have sums of their own.
#if defined STRATA_VNNI || defined STRATA_AVXVNNI
struct ByteSum {
    VI high, low;
    ByteSum() = default;
    explicit ByteSum(const int32_t* start) : high(izero()), low(irepeat(start)) {}
    inline __attribute__((always_inline)) void add(VI bytes, const Row& x, int block, int i) {
        const int8_t* a = x.bytes + block / 2 * 128 + block % 2 * 32 + 4 * i;
        ibyteProduct(high, bytes, a);
        ibyteProduct(low, bytes, a + 64);
    }
    inline VF value() const { return ifloat(iadd(ishl32(high, 8), low)); }
};
#endif
#ifndef STRATA_VNNI
struct WordSum {
    VI all;
    WordSum() = default;
    explicit WordSum(const int32_t* start) : all(irepeat(start)) {}
    inline __attribute__((always_inline)) void add(VI bytes, const Row& x, int block, int i) {
        const int16_t* q = x.q + 32 * block + 2 * i;
        iproduct(all, iand(bytes, iset16(0xff)), q);
        iproduct(all, ishr16(bytes, 8), q + 16);
    }
    inline VF value() const { return ifloat(all); }
};
#endif
// What R rows use: more than two would not find registers for two sums each with AVX-VNNI.
#if defined STRATA_VNNI
template <int>
using SumOf = ByteSum;
#elif defined STRATA_AVXVNNI
template <int R>
using SumOf = std::conditional_t<R <= 2, ByteSum, WordSum>;
#else
template <int>
using SumOf = WordSum;
#endif

// Products of half (or all) of block b of a run, which is block `block` of the rows.
template <class T, int R, int HALF>
static inline __attribute__((always_inline)) void packedHalf(const Codes<T::BITS>& codes, const StepBytes<T>& values, const Starts<T, R>& starts, const Row* x,
                                                             int block, int b, VF* products) {
    constexpr int STEPS = 8 / T::HALVES;
    SumOf<R> sums[R];
    STRATA_UNROLL
    for (int r = 0; r < R; r++) sums[r] = SumOf<R>(starts.at[r] + 2 * b + HALF);
    STRATA_UNROLL
    for (int i = HALF * STEPS; i < HALF * STEPS + STEPS; i++) {
        const VI bytes = values.of(codes, i);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r].add(bytes, x[r], block, i);
    }
    STRATA_UNROLL
    for (int r = 0; r < R; r++) products[r] = sums[r].value();
}

// Adds a block's products and minima to those of a run, which are yet to be multiplied with its whole factors.
template <class T, int R>
static inline __attribute__((always_inline)) void packedBlock(const Codes<T::BITS>& codes, const StepBytes<T>& values, const Starts<T, R>& starts,
                                                              RunFactors<T::FACTORS>& factors, const Row* x, int block, int b, VF* sums, VF* minima) {
    VF products[R], second[R];
    packedHalf<T, R, 0>(codes, values, starts, x, block, b, products);
    const VF factor = factors.of(b, 0);
    if constexpr (T::HALVES == 2) {
        STRATA_UNROLL
        for (int r = 0; r < R; r++) products[r] = vmul(factor, products[r]);
        packedHalf<T, R, 1>(codes, values, starts, x, block, b, second);
        const VF other = factors.of(b, 1);
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r] = vfma(vfma(other, second[r], products[r]), vset(x[r].d[block]), sums[r]);
    } else {
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r] = vfma(factor, vmul(products[r], vset(x[r].d[block])), sums[r]);
    }
    if constexpr (T::HAS_MIN) {
        const VF minimum = factors.minimum();
        STRATA_UNROLL
        for (int r = 0; r < R; r++) minima[r] = vfma(minimum, vset(x[r].s[block]), minima[r]);
    }
}

template <class T, int R>
static void dotPackedRows(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale, bool add,
                          float* const* out) {
    const StepBytes<T> values;
    for (int o = 0; o < outputs; o += W, w += W * rowBytes) {
        // Factors and codes are prefetched as the one stream that they are, from where the first codes lie: from the factors on, codes would be prefetched as much later.
        const uint8_t *factorsAt = w, *p = w + T::codesAt(rowBytes), *ahead = p;
        VF sums[R];
        STRATA_UNROLL
        for (int r = 0; r < R; r++) sums[r] = vzero();
        for (int first = 0; first < inputs / 32; first += RUN_INPUTS / 32, factorsAt += T::FACTOR_BYTES, ahead += T::FACTOR_BYTES) {
            prefetchRun(ahead, T::FACTOR_BYTES);
            RunFactors<T::FACTORS> factors(factorsAt, T::UNIT);
            const Starts<T, R> starts(x, first);
            VF run[R], minima[R];
            STRATA_UNROLL
            for (int r = 0; r < R; r++) run[r] = factors.WHOLE ? vzero() : sums[r], minima[r] = vzero();
            for (int b = 0; b < RUN_INPUTS / 32; b++, p += T::BLOCK_BYTES, ahead += T::BLOCK_BYTES) {
                prefetchRun(ahead, T::BLOCK_BYTES);
                packedBlock<T, R>(Codes<T::BITS>(p), values, starts, factors, x, first + b, b, run, minima);
            }
            STRATA_UNROLL
            for (int r = 0; r < R; r++) {
                if constexpr (RunFactors<T::FACTORS>::WHOLE) sums[r] = vfma(factors.whole, run[r], sums[r]);
                else sums[r] = run[r];
                if constexpr (T::HAS_MIN) sums[r] = vfma(factors.least.whole, minima[r], sums[r]);
            }
        }
        for (int r = 0; r < rows; r++) {
            float* target = out[r] + o;
            const VF sum = vmul(vset(scale), sums[r]);
            vstore(target, add ? vadd(vload(target), sum) : sum);
        }
    }
}

template <class T>
static void dotPacked(const uint8_t* w, int64_t rowBytes, int outputs, int inputs, const Row* x, int rows, float scale, bool add,
                      float* const* out) {
    STRATA_PADDED_ROWS(dotPackedRows, w, rowBytes, outputs, inputs, x, scale, add, out)
}

template <class = void>
static void fillPackedRows(Kernels* k) {
    k->lanes = W;
    if (k->dotOutputs < W) k->dotOutputs = W;
#define X(name, bits, factors, unit, values) k->dots[PACKED + name] = dotPacked<Packed##name>;
    STRATA_PACKED(X)
#undef X
}

}  // namespace strata::STRATA_NS
