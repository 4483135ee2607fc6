// C ABI of the CPU kernels. Addresses are int64_t so that Java passes plain longs; matrices are row-major float32 unless a type says
// otherwise. `context` comes from strata_cpu_open; calls with one context are made by one thread at a time. `batch` is the record that
// dev.strata.cpu.BatchRecord writes.
#pragma once
#include <cstdint>

extern "C" {
// Best instruction set of this processor that the library has kernels for, at most `cap` (negative: no cap):
// 0 generic, 1 AVX2, 2 AVX-512, 3 AVX-512 VNNI.
int32_t strata_cpu_best_isa(int32_t cap);

int64_t strata_cpu_open(int32_t cap, int32_t threads);
int32_t strata_cpu_isa(int64_t context);
// Serves the context's jobs on the calling thread until strata_cpu_stop; index is 1 ... threads - 1.
void strata_cpu_work(int64_t context, int32_t index);
void strata_cpu_stop(int64_t context);
void strata_cpu_close(int64_t context);

// Copies on all threads.
void strata_cpu_copy(int64_t context, int64_t source, int64_t target, int64_t bytes);

// Bytes of a packed matrix (src/packed.h), to which products refer by its stored type's id plus 64; 0 where this context packs no such one.
int64_t strata_cpu_packed_bytes(int64_t context, int32_t type, int32_t outputs, int32_t inputs);
// Packs a stored matrix on all threads.
void strata_cpu_pack(int64_t context, int32_t type, int64_t source, int32_t outputs, int32_t inputs, int64_t target);

void strata_cpu_decode(int64_t context, int32_t type, int64_t source, int64_t target, int64_t elements,
                       float scale);
void strata_cpu_embed(int64_t context, int32_t type, int64_t table, int32_t columns, float scale, int64_t batch, int64_t out);
void strata_cpu_rms_norm(int64_t context, int64_t in, int32_t rows, int32_t columns, int64_t weight, int32_t weightColumns,
                         int32_t group, float epsilon, int64_t out);
void strata_cpu_matmul(int64_t context, int32_t type, int64_t weight, int32_t outputs, int32_t inputs, float scale, int64_t in,
                       int32_t rows, int64_t out, int32_t add);
void strata_cpu_add(int64_t context, int64_t in, int64_t count, int64_t into);
void strata_cpu_repeat(int64_t context, int64_t in, int32_t rows, int32_t columns, int32_t times, int64_t out);
void strata_cpu_concatenate(int64_t context, int64_t left, int32_t leftColumns, int64_t right, int32_t rightColumns, int32_t rows,
                            int64_t out);

// keys and values: pages x kvHeads tiles (see src/runs.h). frequencies: width / 2 float64. Norms and gates may be 0.
int64_t strata_cpu_kv_tile_bytes(int32_t format, int32_t headSize);
void strata_cpu_attention_inputs(int64_t context, int32_t heads, int32_t kvHeads, int32_t headSize, int32_t width,
                                 int64_t frequencies, float magnitude, float epsilon, int64_t projected, int64_t keys,
                                 int64_t values, int64_t queryNorm, int64_t keyNorm, int32_t format, int64_t keyPages,
                                 int64_t valuePages, int64_t batch, int64_t queries, int64_t gates);
// masks: 0, or one word a page for every row, maskPages words a row.
void strata_cpu_attention(int64_t context, int32_t heads, int32_t kvHeads, int32_t headSize, int64_t queries, int32_t format,
                          int64_t keyPages, int64_t valuePages, int64_t masks, int32_t maskPages, int64_t gates, int64_t batch,
                          int64_t out);
// raw: [pages][64][headSize], pooled: [pages][64 / block][headSize].
void strata_cpu_index_keys(int64_t context, int32_t headSize, int32_t width, int64_t frequencies, float magnitude, float epsilon,
                           int32_t block, int64_t keys, int64_t keyNorm, int64_t raw, int64_t pooled, int64_t batch);
void strata_cpu_select_blocks(int64_t context, int32_t heads, int32_t headSize, int32_t width, int64_t frequencies,
                              float magnitude, float epsilon, int32_t block, int32_t budget, int64_t queries, int64_t queryNorm,
                              int64_t pooled, int64_t batch, int64_t masks, int32_t maskPages);

// states: [slots][valueHeads][keySize][valueSize], past: [slots][kernel - 1][channels], convolution: [kernel][channels].
void strata_cpu_delta_net(int64_t context, int32_t keyHeads, int32_t valueHeads, int32_t keySize, int32_t valueSize,
                          int32_t kernel, int32_t tiled, int32_t sigmoidGate, float epsilon, int64_t convolution, int64_t decay,
                          int64_t timeBias, int64_t norm, int64_t qkv, int64_t z, int64_t beta, int64_t alpha, int64_t states,
                          int64_t past, int64_t batch, int64_t out);
// The same for one segment of a held pass, whose inputs were kept: only the states advance, by `accepted` rows.
void strata_cpu_delta_replay(int64_t context, int32_t keyHeads, int32_t valueHeads, int32_t keySize, int32_t valueSize,
                             int32_t kernel, int32_t tiled, int64_t convolution, int64_t decay, int64_t timeBias, int64_t qkv,
                             int64_t beta, int64_t alpha, int64_t states, int64_t past, int32_t slot, int32_t accepted);

void strata_cpu_route(int64_t context, int32_t experts, int32_t used, int32_t renormalise, float scale, int64_t logits,
                      int32_t rows, int64_t ids, int64_t weights);
// table: experts x {gate, up, down addresses; float32 scales gate, up, down; 4 unused bytes}; experts with gate 0 are left out.
void strata_cpu_expert_results(int64_t context, int32_t experts, int32_t hidden, int32_t intermediate, int32_t gateType,
                               int32_t upType, int32_t downType, int64_t table, int64_t ids, int32_t rows, int32_t used,
                               int64_t in, int64_t results);
void strata_cpu_expert_sum(int64_t context, int32_t hidden, int64_t results, int64_t weights, int32_t rows, int32_t used,
                           int64_t out);
// into[r] += sigmoid(scalarGate . in[r]) (1 when scalarGate is 0) * down(silu(gate in[r]) * (up in[r]))
void strata_cpu_shared_expert(int64_t context, int32_t hidden, int32_t intermediate, int32_t gateType, int64_t gate,
                              float gateScale, int32_t upType, int64_t up, float upScale, int32_t downType, int64_t down,
                              float downScale, int64_t scalarGate, int64_t in, int32_t rows, int64_t into);

void strata_cpu_hyper_mix(int64_t context, int32_t streams, int32_t hidden, int32_t lowRank, float epsilon, int64_t norm,
                          int32_t downType, int64_t down, float downScale, int32_t upType, int64_t up, float upScale,
                          int32_t injectType, int64_t injectWeight, float injectScale, int64_t residual, int32_t rows,
                          int64_t out, int64_t inject);
void strata_cpu_hyper_inject(int64_t context, int32_t streams, int32_t hidden, int64_t y, int64_t inject, int32_t rows,
                             int64_t residual);
// past: [slots][(kernel - 1) * dilation][streams * hidden]; kept: 0, or receives the normed rows of the pass;
// convolution: [kernel][streams * hidden].
void strata_cpu_ngram(int64_t context, int32_t streams, int32_t hidden, int32_t columns, int32_t kernel, int32_t dilation,
                      float epsilon, int32_t keyType, int64_t key, float keyScale, int32_t valueType, int64_t value,
                      float valueScale, int64_t normKey, int64_t normQuery, int64_t normConvolution, int64_t convolution,
                      int64_t embedding, int64_t residual, int64_t past, int64_t kept, int64_t batch);
// Moves `rows` new rows of `columns` into a window of the last `length` rows.
void strata_cpu_shift_rows(int64_t context, int64_t window, int32_t length, int32_t columns, int64_t rows, int32_t count);
// target [columns][rows] = transposed source [rows][columns]
void strata_cpu_transpose(int64_t context, int64_t source, int32_t rows, int32_t columns, int64_t target);
}
