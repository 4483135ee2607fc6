// Activations as integers of 16 bits.
#pragma once

#include "strata.cuh"

// How activations lie in shared memory: as float16; as 16-bit integers, four high bytes and then four low ones; or, for values with SIGNS, as such with all that a lane
// multiplies with a quarter of a group beside each other, in the order in which nibbles of a word come out of a table: high bytes of elements 0, 8, 1 and 9, then of 2, 10, 3 and
// 11, then the low bytes of the same.
enum Form { HALVES, INTEGERS, WOVEN };

// The power of two by which a row is multiplied whose largest value is `most`, and its inverse.
STRATA_INLINE void fitting(float most, int form, float& factor, float& inverse) {
    u32 exponent = bits_of(most) >> 23 & 255u, more = form != HALVES ? 1u : 0u;
    exponent = exponent < 16 ? 16 : exponent > 253 ? 253 : exponent;
    factor = float_of((267u + more - exponent) << 23);
    inverse = float_of((exponent - 13u - more) << 23);
}

// Four values of at most 32767 as integers to to[0..3] or, woven, to where they belong in their group (of which this is the four that the lowest three bits of the thread's
// number say), and (with sums) the sum of what they became over groups of 32 columns.
STRATA_INLINE void split_four(const float* v, int form, u16* to, bool inside, float* sums, int group) {
    const float magic = 12582912.0f;  // 1.5 * 2^23: what is added to it lies rounded in its lowest bits
    float shifted[4], sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        shifted[i] = fminf(v[i], 32767.0f) + magic;
        sum += shifted[i] - magic;
    }
    u32 low = permute_bytes(bits_of(shifted[0]), bits_of(shifted[1]), 0x5140u);
    u32 high = permute_bytes(bits_of(shifted[2]), bits_of(shifted[3]), 0x5140u);
    // Bytes of low: low 0, low 1, high 0, high 1.
    Word2 bytes = {permute_bytes(low, high, 0x7632u), permute_bytes(low, high, 0x5410u)};
    if (form == WOVEN) {
        int four = threadIdx.x & 7, second = four >> 1 & 1, quarter = (four >> 2) * 2 + (four & 1);
        u32 order = second == 0 ? 0x5140u : 0x3726u;
        bytes.x = permute_bytes(bytes.x, (u32)exchange_xor((int)bytes.x, 2), order);
        bytes.y = permute_bytes(bytes.y, (u32)exchange_xor((int)bytes.y, 2), order);
        if (inside) {
            u32* words = (u32*)(to - 4 * four) + 4 * quarter + second;
            words[0] = bytes.x;
            words[2] = bytes.y;
        }
    } else if (inside) {
        *(Word2*)to = bytes;
    }
    if (sums != nullptr) {
#pragma unroll
        for (int distance = 4; distance > 0; distance >>= 1) {
            sum += exchange_xor(sum, distance);
        }
        if (inside && (threadIdx.x & 7) == 0) {
            sums[group] = sum;
        }
    }
}

// A row that a kernel leaves as integers beside its float32 values, for the one behind it, each group of 32 columns scaled by itself: all columns' bytes, then the
// groups' factors and the sums of their integers (float32).
struct IntegerRow {
    u8* bytes;
    float* factors;
    float* sums;
};
STRATA_INLINE IntegerRow integer_row(u8* at, int columns) {
    float* factors = (float*)(at + 2 * columns);
    return IntegerRow{at, factors, factors + (columns >> 5)};
}

// Four neighbouring values from `column` on by each thread, a group by eight lanes. Whole warps.
STRATA_INLINE void put_integers(IntegerRow row, int column, const float* values) {
    float v[4], most = 0.0f, factor, inverse;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        most = fmaxf(most, fabsf(values[i]));
    }
#pragma unroll
    for (int distance = 4; distance > 0; distance >>= 1) {
        most = fmaxf(most, exchange_xor(most, distance));
    }
    fitting(most, INTEGERS, factor, inverse);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        v[i] = values[i] * factor;
    }
    split_four(v, INTEGERS, (u16*)row.bytes + column, true, row.sums, column >> 5);
    if ((threadIdx.x & 7) == 0) {
        row.factors[column >> 5] = inverse;
    }
}
