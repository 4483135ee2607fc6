// Conversions of small floats, exact, without instruction set extensions.
#pragma once
#include <cstdint>
#include <cstring>

namespace strata {

static inline float bitsToFloat(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t floatToBits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline float bf16ToFloat(uint16_t h) { return bitsToFloat(uint32_t(h) << 16); }

// Round to nearest even.
static inline uint16_t floatToBf16(float value) {
    uint32_t bits = floatToBits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 64);
    return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static inline float halfToFloat(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000) << 16;
    uint32_t exponent = (h >> 10) & 31;
    uint32_t mantissa = h & 1023;
    if (exponent == 31) return bitsToFloat(sign | 0x7f800000 | (mantissa << 13));
    if (exponent == 0) {
        float value = float(mantissa) * 5.9604644775390625e-8f;  // 2^-24
        return sign ? -value : value;
    }
    return bitsToFloat(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

// Round to nearest even, overflow to infinity.
static inline uint16_t floatToHalf(float value) {
    uint32_t bits = floatToBits(value);
    uint32_t sign = (bits >> 16) & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00);
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);
    if (magnitude < 0x38800000) {
        // Subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits.
        float shifted = bitsToFloat(magnitude) + 0.5f;
        return uint16_t(sign | (floatToBits(shifted) - floatToBits(0.5f)));
    }
    uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
    return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

static inline uint16_t read16(const uint8_t* p) {
    uint16_t value;
    memcpy(&value, p, 2);
    return value;
}

static inline uint32_t read32(const uint8_t* p) {
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}

static inline uint64_t read64(const uint8_t* p) {
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

static inline float readHalf(const uint8_t* p) { return halfToFloat(read16(p)); }

}  // namespace strata
