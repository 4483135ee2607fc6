// Scalar decoders of packed matrices: they define the form, and give the numbers that those of the stored types give, bit for bit.
#include "packed.h"

#include "numbers.h"

namespace strata {

namespace {

// The code of one input of a block.
template <int BITS>
int code(const uint8_t* codes, int lanes, int lane, int input) {
    const int step = input / 4;
    auto vector = [&](int i) { return codes[(i * lanes + lane) * 4 + input % 4]; };
    if (BITS >= 4) {
        const int low = vector(step % 4) >> (step / 4 * 4) & 15;
        if (BITS == 6) return low | (vector(4 + step / 4) >> (step % 4 * 2) & 3) << 4;
        if (BITS == 5) return low | (vector(4) >> step & 1) << 4;
        return low;
    }
    if (BITS == 2) return vector(step / 4) >> (step % 4 * 2) & 3;
    if (step < 6) return vector(step / 2) >> (step % 2 * 3) & 7;
    return vector(step - 6) >> 6 | (vector(2) >> step & 1) << 2;
}

// The factor of 16 inputs of a run.
template <Factors FACTORS>
float factor(const uint8_t* run, int lanes, int lane, int half, float unit) {
    const int block = half / 2;
    switch (FACTORS) {
        case FACTORS_E8: {
            const uint8_t e = run[block * lanes + lane];
            return e < 2 ? bitsToFloat(0x00200000u << e) : bitsToFloat(uint32_t(e - 1) << 23);
        }
        case FACTORS_UE4M3: return SCALE_UE4M3[run[half * lanes + lane]];
        case FACTORS_HALF64: return readHalf(run + (block / 2 * lanes + lane) * 2);
        case FACTORS_HALF32: return readHalf(run + (block * lanes + lane) * 2);
        case FACTORS_MINIMA: return readHalf(run + 2 * lane) * unit * float(run[(4 + block) * lanes + lane] & 63);
        case FACTORS_SIGNED16: return readHalf(run + 2 * lane) * unit * float(int8_t(run[2 * lanes + half * lanes + lane]));
        case FACTORS_SIGNED: return readHalf(run + 2 * lane) * unit * float(int8_t(run[2 * lanes + block * lanes + lane]));
        default: {
            const int place = FACTORS == FACTORS_ODD16 ? half : block;
            const uint32_t s = read32(run + 2 * lanes + (place / 8 * lanes + lane) * 4) >> (place % 8 * 4) & 15;
            return readHalf(run + 2 * lane) * unit * float(2 * s + 1);
        }
    }
}

// What is to be subtracted from the weights of a block.
template <Factors FACTORS>
float minimum(const uint8_t* run, int lanes, int lane, int block, float unit) {
    if (FACTORS != FACTORS_MINIMA) return 0;
    const uint32_t low = read32(run + 12 * lanes + 4 * lane) >> (4 * block) & 15;
    return readHalf(run + 2 * lanes + 2 * lane) * unit * float(run[(4 + block) * lanes + lane] >> 6 << 4 | low);
}

template <int BITS, Factors FACTORS>
void decode(const int8_t* values, float unit, const uint8_t* factors, const uint8_t* codes, int lanes, int lane, float* dst) {
    for (int half = 0; half < RUN_INPUTS / 16; half++) {
        const uint8_t* block = codes + half / 2 * BITS * 4 * lanes;
        const float scale = factor<FACTORS>(factors, lanes, lane, half, unit);
        const float least = minimum<FACTORS>(factors, lanes, lane, half / 2, unit);
        for (int i = 0; i < 16; i++) *dst++ = scale * float(values[code<BITS>(block, lanes, lane, half % 2 * 16 + i)]) - least;
    }
}

}  // namespace

void decodePacked(int kind, int lanes, const uint8_t* matrix, int inputs, int output, float* dst) {
    const TypeInfo& info = typeInfo(kind);
    const uint8_t* factors = matrix + output / lanes * lanes * rowBytes(kind, inputs);
    const uint8_t* codes = factors + lanes * allFactors(inputs / RUN_INPUTS, info.factors);
    for (int i = 0; i < inputs; i += RUN_INPUTS, factors += lanes * info.factors, codes += lanes * info.bytes, dst += RUN_INPUTS) {
        switch (kind - PACKED) {
#define X(name, bits, form, unit, values) \
    case name: decode<bits, form>(values, unit, factors, codes, lanes, output % lanes, dst); break;
            STRATA_PACKED(X)
#undef X
        }
    }
}

}  // namespace strata
