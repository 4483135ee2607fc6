// Scalar decoders of every stored type, in the order of operations that defines the formats.
#include "numbers.h"
#include "packed.h"

namespace strata {

float SCALE_UE4M3[256];

namespace {

struct ScaleTable {
    ScaleTable() {
        for (int x = 0; x < 256; x++) {
            int exponent = (x >> 3) & 15;
            int mantissa = x & 7;
            float value = exponent == 0 ? float(mantissa) * bitsToFloat((127 - 9) << 23)
                                        : (1 + float(mantissa) / 8) * bitsToFloat(uint32_t(exponent - 7 + 127) << 23);
            if ((x & 0x7f) == 0 || (x & 0x7f) == 0x7f) value = 0;
            SCALE_UE4M3[x] = value * 0.5f;
        }
    }
} scaleTable;

int low(uint8_t b) { return b & 15; }
int high(uint8_t b) { return b >> 4; }
// Seven stored sign bits and the eighth that makes their number even.
int signs(uint32_t i) { return int(i | (uint32_t(__builtin_parity(i)) << 7)); }

// Scale and minimum j of the 6-bit pairs of Q4_K and Q5_K.
void scaleMin(const uint8_t* s, int j, int* scale, int* min) {
    if (j < 4) {
        *scale = s[j] & 63;
        *min = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
        *min = (s[j + 4] >> 4) | (s[j] >> 6) << 4;
    }
}

template <class Grid>
void grid(float scale, Grid values, int width, int sign, float* out) {
    for (int j = 0; j < width; j++) {
        float value = scale * float(uint8_t(values >> (8 * j)));
        out[j] = sign >> j & 1 ? -value : value;
    }
}

void blockF32(const uint8_t* p, float* out) { memcpy(out, p, 4); }
void blockF16(const uint8_t* p, float* out) { *out = readHalf(p); }
void blockBF16(const uint8_t* p, float* out) { *out = bf16ToFloat(read16(p)); }

void blockQ4_0(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 16; i++) {
        out[i] = d * float(low(p[2 + i]) - 8);
        out[i + 16] = d * float(high(p[2 + i]) - 8);
    }
}

void blockQ4_1(const uint8_t* p, float* out) {
    float d = readHalf(p), m = readHalf(p + 2);
    for (int i = 0; i < 16; i++) {
        out[i] = d * float(low(p[4 + i])) + m;
        out[i + 16] = d * float(high(p[4 + i])) + m;
    }
}

void blockQ5_0(const uint8_t* p, float* out) {
    float d = readHalf(p);
    uint32_t h = read32(p + 2);
    for (int i = 0; i < 32; i++) {
        int n = i < 16 ? low(p[6 + i]) : high(p[6 + i - 16]);
        out[i] = d * float((n | int(h >> i & 1) << 4) - 16);
    }
}

void blockQ5_1(const uint8_t* p, float* out) {
    float d = readHalf(p), m = readHalf(p + 2);
    uint32_t h = read32(p + 4);
    for (int i = 0; i < 32; i++) {
        int n = i < 16 ? low(p[8 + i]) : high(p[8 + i - 16]);
        out[i] = d * float(n | int(h >> i & 1) << 4) + m;
    }
}

void blockQ8_0(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 32; i++) out[i] = d * float(int8_t(p[2 + i]));
}

void blockQ1_0(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 128; i++) out[i] = p[2 + i / 8] >> (i % 8) & 1 ? d : -d;
}

void blockQ2_0(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 64; i++) out[i] = d * float((p[2 + i / 4] >> (2 * (i % 4)) & 3) - 1);
}

int twoBits(const uint8_t* q, int e) { return q[32 * (e / 128) + e % 32] >> (2 * (e % 128 / 32)) & 3; }

void blockTQ2_0(const uint8_t* p, float* out) {
    float d = readHalf(p + 64);
    for (int e = 0; e < 256; e++) out[e] = float(twoBits(p, e) - 1) * d;
}

void blockTQ1_0(const uint8_t* p, float* out) {
    static const uint8_t POWERS[5] = {1, 3, 9, 27, 81};
    float d = readHalf(p + 52);
    int e = 0;
    auto digits = [&](int first, int count, int rounds) {
        for (int n = 0; n < rounds; n++) {
            for (int i = 0; i < count; i++) {
                uint8_t b = uint8_t(p[first + i] * POWERS[n]);
                out[e++] = float(((b * 3) >> 8) - 1) * d;
            }
        }
    };
    digits(0, 32, 5);
    digits(32, 16, 5);
    digits(48, 4, 4);
}

void blockQ2_K(const uint8_t* p, float* out) {
    float d = readHalf(p + 80), m = readHalf(p + 82);
    for (int e = 0; e < 256; e++) {
        uint8_t sc = p[e / 16];
        out[e] = d * float(low(sc)) * float(twoBits(p + 16, e)) - m * float(high(sc));
    }
}

void blockQ3_K(const uint8_t* p, float* out) {
    const uint8_t* s = p + 96;
    float d = readHalf(p + 108);
    for (int e = 0; e < 256; e++) {
        int g = e / 16;
        int scale = (s[g % 8] >> (4 * (g / 8)) & 15) | (s[8 + g % 4] >> (2 * (g / 4)) & 3) << 4;
        int value = twoBits(p + 32, e) - (p[e % 32] >> (e / 32) & 1 ? 0 : 4);
        out[e] = d * float(scale - 32) * float(value);
    }
}

void blockQ4_K(const uint8_t* p, float* out) {
    float d = readHalf(p), m = readHalf(p + 2);
    for (int j = 0; j < 8; j++) {
        int scale, min;
        scaleMin(p + 4, j, &scale, &min);
        float dl = d * float(scale), ml = m * float(min);
        const uint8_t* q = p + 16 + 32 * (j / 2);
        for (int i = 0; i < 32; i++) out[32 * j + i] = dl * float(j % 2 ? high(q[i]) : low(q[i])) - ml;
    }
}

void blockQ5_K(const uint8_t* p, float* out) {
    float d = readHalf(p), m = readHalf(p + 2);
    const uint8_t* qh = p + 16;
    for (int j = 0; j < 8; j++) {
        int scale, min;
        scaleMin(p + 4, j, &scale, &min);
        float dl = d * float(scale), ml = m * float(min);
        const uint8_t* q = p + 48 + 32 * (j / 2);
        for (int i = 0; i < 32; i++) {
            int n = (j % 2 ? high(q[i]) : low(q[i])) | (qh[i] >> j & 1) << 4;
            out[32 * j + i] = dl * float(n) - ml;
        }
    }
}

void blockQ6_K(const uint8_t* p, float* out) {
    float d = readHalf(p + 208);
    for (int e = 0; e < 256; e++) {
        int h = e / 128, r = e % 128;
        int n = (p[64 * h + r % 64] >> (4 * (r / 64)) & 15) | (p[128 + 32 * h + r % 32] >> (2 * (r / 32)) & 3) << 4;
        out[e] = d * float(int8_t(p[192 + e / 16])) * float(n - 32);
    }
}

void blockIQ4_NL(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 16; i++) {
        out[i] = d * float(VALUES_IQ4[low(p[2 + i])]);
        out[i + 16] = d * float(VALUES_IQ4[high(p[2 + i])]);
    }
}

void blockIQ4_XS(const uint8_t* p, float* out) {
    float d = readHalf(p);
    int sh = read16(p + 2);
    for (int j = 0; j < 8; j++) {
        int ls = (p[4 + j / 2] >> (4 * (j % 2)) & 15) | (sh >> (2 * j) & 3) << 4;
        float dl = d * float(ls - 32);
        for (int i = 0; i < 16; i++) {
            uint8_t b = p[8 + 16 * j + i];
            out[32 * j + i] = dl * float(VALUES_IQ4[low(b)]);
            out[32 * j + i + 16] = dl * float(VALUES_IQ4[high(b)]);
        }
    }
}

void blockIQ2_XXS(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int g = 0; g < 8; g++) {
        const uint8_t* q = p + 2 + 8 * g;
        uint32_t a = read32(q + 4);
        float db = d * (0.5f + float(a >> 28)) * 0.25f;
        for (int l = 0; l < 4; l++) {
            grid(db, GRID_IQ2XXS[q[l]], 8, signs(a >> (7 * l) & 127), out + 32 * g + 8 * l);
        }
    }
}

void blockIQ2_XS(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 32; i++) {
        int q = read16(p + 2 + 2 * i);
        int s = p[66 + i / 4] >> (4 * (i / 2 % 2)) & 15;
        float db = d * (0.5f + float(s)) * 0.25f;
        grid(db, GRID_IQ2XS[q & 511], 8, signs(uint32_t(q >> 9)), out + 8 * i);
    }
}

void blockIQ2_S(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int i = 0; i < 32; i++) {
        int index = p[2 + i] | (p[66 + i / 4] >> (2 * (i % 4)) & 3) << 8;
        int s = p[74 + i / 4] >> (4 * (i / 2 % 2)) & 15;
        float db = d * (0.5f + float(s)) * 0.25f;
        grid(db, GRID_IQ2S[index], 8, p[34 + i], out + 8 * i);
    }
}

void blockIQ3_XXS(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int g = 0; g < 8; g++) {
        const uint8_t* q = p + 2 + 8 * g;
        uint32_t a = read32(p + 66 + 4 * g);
        float db = d * (0.5f + float(a >> 28)) * 0.5f;
        for (int l = 0; l < 4; l++) {
            int sign = signs(a >> (7 * l) & 127);
            grid(db, GRID_IQ3XXS[q[2 * l]], 4, sign, out + 32 * g + 8 * l);
            grid(db, GRID_IQ3XXS[q[2 * l + 1]], 4, sign >> 4, out + 32 * g + 8 * l + 4);
        }
    }
}

void blockIQ3_S(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int k = 0; k < 64; k++) {
        int index = p[2 + k] | (p[66 + k / 8] >> (k % 8) & 1) << 8;
        int s = p[106 + k / 16] >> (4 * (k / 8 % 2)) & 15;
        grid(d * float(1 + 2 * s), GRID_IQ3S[index], 4, p[74 + k / 2] >> (4 * (k % 2)), out + 4 * k);
    }
}

void ternary(float dl, uint64_t values, float delta, float* out) {
    for (int j = 0; j < 8; j++) out[j] = dl * (float(int8_t(values >> (8 * j))) + delta);
}

void blockIQ1_S(const uint8_t* p, float* out) {
    float d = readHalf(p);
    for (int g = 0; g < 8; g++) {
        int qh = read16(p + 34 + 2 * g);
        float dl = d * float(2 * (qh >> 12 & 7) + 1);
        float delta = qh & 0x8000 ? -0.125f : 0.125f;
        for (int l = 0; l < 4; l++) {
            ternary(dl, GRID_IQ1[p[2 + 4 * g + l] | (qh >> (3 * l) & 7) << 8], delta, out + 32 * g + 8 * l);
        }
    }
}

void blockIQ1_M(const uint8_t* p, float* out) {
    const uint8_t* s = p + 48;
    int bits = 0;
    for (int i = 0; i < 4; i++) bits |= (read16(s + 2 * i) >> 12) << (4 * i);
    float d = halfToFloat(uint16_t(bits));
    for (int i = 0; i < 32; i++) {
        int scale = read16(s + 2 * (i / 8)) >> (3 * (i / 2 % 4)) & 7;
        int n = p[32 + i / 2] >> (4 * (i % 2)) & 15;
        float dl = d * float(2 * scale + 1);
        ternary(dl, GRID_IQ1[p[i] | (n & 7) << 8], n & 8 ? -0.125f : 0.125f, out + 8 * i);
    }
}

void blockMXFP4(const uint8_t* p, float* out) {
    // 2^(e-128): the E2M1 values are doubled. Below 2 it is subnormal.
    float d = p[0] < 2 ? bitsToFloat(0x00200000u << p[0]) : bitsToFloat(uint32_t(p[0] - 1) << 23);
    for (int i = 0; i < 16; i++) {
        out[i] = float(VALUES_FP4[low(p[1 + i])]) * d;
        out[i + 16] = float(VALUES_FP4[high(p[1 + i])]) * d;
    }
}

void blockNVFP4(const uint8_t* p, float* out) {
    for (int b = 0; b < 4; b++) {
        float d = SCALE_UE4M3[p[b]];
        for (int r = 0; r < 8; r++) {
            uint8_t q = p[4 + 8 * b + r];
            out[16 * b + r] = float(VALUES_FP4[low(q)]) * d;
            out[16 * b + r + 8] = float(VALUES_FP4[high(q)]) * d;
        }
    }
}

template <int ELEMENTS, int BYTES, void (*BLOCK)(const uint8_t*, float*)>
void decodeRow(const uint8_t* src, float* dst, int n) {
    for (int i = 0; i < n; i += ELEMENTS, src += BYTES) BLOCK(src, dst + i);
}

struct InfoTable {
    TypeInfo info[KIND_LIMIT] = {};
    constexpr InfoTable() {
#define X(name, id, elements, bytes) info[id] = {elements, bytes, decodeRow<elements, bytes, block##name>, 0};
        STRATA_TYPES(X)
#undef X
        // Outputs of packed matrices do not lie in rows of their own: their bytes count, their decoder is another one.
#define X(name, bits, factors, unit, values) info[PACKED + name] = {RUN_INPUTS, codeBytes(bits), nullptr, factorBytes(factors)};
        STRATA_PACKED(X)
#undef X
    }
};
constexpr InfoTable TABLE;
constexpr TypeInfo NONE = {0, 0, nullptr, 0};

}  // namespace

const TypeInfo& typeInfo(int type) { return type >= 0 && type < KIND_LIMIT ? TABLE.info[type] : NONE; }

}  // namespace strata
