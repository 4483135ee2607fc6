// Panels of packed matrices for the register tiles of quant_tiles.h: outputs lie side by side already, so codes only become values and are widened.
#pragma once
#include "packed_rows.h"
#include "quant_tiles.h"

namespace strata::STRATA_NS {

template <class T>
static void panelPacked(const uint8_t* w, int64_t rowBytes, int rows, int firstBlock, int blocks, float scale, PanelQ* panel) {
    panel->blocks = blocks;
    panel->halves = T::HALVES;
    panel->hasMin = T::HAS_MIN;
    const StepBytes<T> values;
    const VI offset = iset16(T::CODED.offset);
    for (int g = 0; g < NR; g += W) {
        // A group beyond the last repeats it: its results are never read.
        const uint8_t* group = w + (g < rows ? g : rows - W) * rowBytes;
        const uint8_t* factorsAt = group + firstBlock / (RUN_INPUTS / 32) * T::FACTOR_BYTES;
        const uint8_t* p = group + T::codesAt(rowBytes) + firstBlock * T::BLOCK_BYTES;
        for (int first = 0; first < blocks; first += RUN_INPUTS / 32, factorsAt += T::FACTOR_BYTES) {
            FullFactors<T> factors(factorsAt);
            for (int b = first; b < first + RUN_INPUTS / 32; b++, p += T::BLOCK_BYTES) {
                // The panel after this one reads the same inputs of the next outputs.
                for (int i = 0; i < T::BLOCK_BYTES; i += 64) __builtin_prefetch(p + NR * rowBytes + i, 0, 3);
                const Codes<T::BITS> codes(p);
                int16_t* target = panel->data + (b * 16 * NR + g) * 2;
                STRATA_UNROLL
                for (int i = 0; i < 8; i++) {
                    const VI bytes = values.of(codes, i);
                    istore(target + i * NR * 2, isub16(iand(bytes, iset16(0xff)), offset));
                    istore(target + (8 + i) * NR * 2, isub16(ishr16(bytes, 8), offset));
                }
                for (int half = 0; half < T::HALVES; half++)
                    vstore(panel->scale + (b * T::HALVES + half) * NR + g, vmul(vset(scale), factors.of(b - first, half)));
                if constexpr (T::HAS_MIN) vstore(panel->min + b * NR + g, vmul(vset(scale), factors.minimum()));
            }
        }
    }
}

template <class = void>
static void fillPackedTiles(Kernels* k) {
#define X(name, bits, factors, unit, values) k->panels[PACKED + name] = panelPacked<Packed##name>;
    STRATA_PACKED(X)
#undef X
}

}  // namespace strata::STRATA_NS
