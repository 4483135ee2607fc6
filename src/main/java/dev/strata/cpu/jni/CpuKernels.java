package dev.strata.cpu.jni;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;

/**
 * JNI entry points of the C++ kernels; JavaCPP generates the glue from these declarations. Addresses are raw: whoever passes one keeps
 * its memory alive. Meaning, shapes and layouts are in {@code native/cpu/include/strata_cpu.h}.
 */
@Platform(value = "linux-x86_64", include = "strata_cpu.h", compiler = "cpp17", link = "strata_cpu")
@NoException
public final class CpuKernels {
    static {
        Loader.load();
    }

    private CpuKernels() {}

    public static native int strata_cpu_best_isa(int cap);

    public static native long strata_cpu_open(int cap, int threads);

    public static native int strata_cpu_isa(long context);

    public static native void strata_cpu_work(long context, int index);

    public static native void strata_cpu_stop(long context);

    public static native void strata_cpu_close(long context);

    public static native void strata_cpu_copy(long context, long source, long target, long bytes);

    public static native long strata_cpu_packed_bytes(long context, int type, int outputs, int inputs);

    public static native void strata_cpu_pack(
            long context, int type, long source, int outputs, int inputs, long target);

    public static native void strata_cpu_decode(
            long context, int type, long source, long target, long elements, float scale);

    public static native void strata_cpu_embed(
            long context, int type, long table, int columns, float scale, long batch, long out);

    public static native void strata_cpu_rms_norm(
            long context,
            long in,
            int rows,
            int columns,
            long weight,
            int weightColumns,
            int group,
            float epsilon,
            long out);

    public static native void strata_cpu_matmul(
            long context,
            int type,
            long weight,
            int outputs,
            int inputs,
            float scale,
            long in,
            int rows,
            long out,
            int add);

    public static native void strata_cpu_add(long context, long in, long count, long into);

    public static native void strata_cpu_repeat(long context, long in, int rows, int columns, int times, long out);

    public static native void strata_cpu_concatenate(
            long context, long left, int leftColumns, long right, int rightColumns, int rows, long out);

    public static native long strata_cpu_kv_tile_bytes(int format, int headSize);

    public static native void strata_cpu_attention_inputs(
            long context,
            int heads,
            int kvHeads,
            int headSize,
            int width,
            long frequencies,
            float magnitude,
            float epsilon,
            long projected,
            long keys,
            long values,
            long queryNorm,
            long keyNorm,
            int format,
            long keyPages,
            long valuePages,
            long batch,
            long queries,
            long gates);

    public static native void strata_cpu_attention(
            long context,
            int heads,
            int kvHeads,
            int headSize,
            long queries,
            int format,
            long keyPages,
            long valuePages,
            long masks,
            int maskPages,
            long gates,
            long batch,
            long out);

    public static native void strata_cpu_index_keys(
            long context,
            int headSize,
            int width,
            long frequencies,
            float magnitude,
            float epsilon,
            int block,
            long keys,
            long keyNorm,
            long raw,
            long pooled,
            long batch);

    public static native void strata_cpu_select_blocks(
            long context,
            int heads,
            int headSize,
            int width,
            long frequencies,
            float magnitude,
            float epsilon,
            int block,
            int budget,
            long queries,
            long queryNorm,
            long pooled,
            long batch,
            long masks,
            int maskPages);

    public static native void strata_cpu_delta_net(
            long context,
            int keyHeads,
            int valueHeads,
            int keySize,
            int valueSize,
            int kernel,
            int tiled,
            int sigmoidGate,
            float epsilon,
            long convolution,
            long decay,
            long timeBias,
            long norm,
            long qkv,
            long z,
            long beta,
            long alpha,
            long states,
            long past,
            long batch,
            long out);

    public static native void strata_cpu_delta_replay(
            long context,
            int keyHeads,
            int valueHeads,
            int keySize,
            int valueSize,
            int kernel,
            int tiled,
            long convolution,
            long decay,
            long timeBias,
            long qkv,
            long beta,
            long alpha,
            long states,
            long past,
            int slot,
            int accepted);

    public static native void strata_cpu_route(
            long context,
            int experts,
            int used,
            int renormalise,
            float scale,
            long logits,
            int rows,
            long ids,
            long weights);

    public static native void strata_cpu_expert_results(
            long context,
            int experts,
            int hidden,
            int intermediate,
            int gateType,
            int upType,
            int downType,
            long table,
            long ids,
            int rows,
            int used,
            long in,
            long results);

    public static native void strata_cpu_expert_sum(
            long context, int hidden, long results, long weights, int rows, int used, long out);

    public static native void strata_cpu_shared_expert(
            long context,
            int hidden,
            int intermediate,
            int gateType,
            long gate,
            float gateScale,
            int upType,
            long up,
            float upScale,
            int downType,
            long down,
            float downScale,
            long scalarGate,
            long in,
            int rows,
            long into);

    public static native void strata_cpu_hyper_mix(
            long context,
            int streams,
            int hidden,
            int lowRank,
            float epsilon,
            long norm,
            int downType,
            long down,
            float downScale,
            int upType,
            long up,
            float upScale,
            int injectType,
            long injectWeight,
            float injectScale,
            long residual,
            int rows,
            long out,
            long inject);

    public static native void strata_cpu_hyper_inject(
            long context, int streams, int hidden, long y, long inject, int rows, long residual);

    public static native void strata_cpu_ngram(
            long context,
            int streams,
            int hidden,
            int columns,
            int kernel,
            int dilation,
            float epsilon,
            int keyType,
            long key,
            float keyScale,
            int valueType,
            long value,
            float valueScale,
            long normKey,
            long normQuery,
            long normConvolution,
            long convolution,
            long embedding,
            long residual,
            long past,
            long kept,
            long batch);

    public static native void strata_cpu_shift_rows(
            long context, long window, int length, int columns, long rows, int count);

    public static native void strata_cpu_transpose(long context, long source, int rows, int columns, long target);
}
