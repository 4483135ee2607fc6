package dev.strata.model;

import dev.strata.device.DeltaShape;
import dev.strata.device.HostTensor;

/**
 * The input projections of a DeltaNet layer, brought to one order whatever way the files group them.
 *
 * @param qkv [channels, hidden]: all queries, all keys, all values
 * @param z [valueColumns, hidden]
 * @param beta [valueHeads, hidden]
 * @param alpha [valueHeads, hidden]
 */
record DeltaProjections(HostTensor qkv, HostTensor z, HostTensor beta, HostTensor alpha) {

    static DeltaProjections read(Weights weights, int layer, DeltaShape shape, int hidden) {
        HostTensor qkv;
        HostTensor z;
        if (weights.has(Role.DELTA_QKVZ, layer)) {
            HostTensor grouped =
                    weights.matrix(Role.DELTA_QKVZ, layer, shape.channels() + shape.valueColumns(), hidden);
            qkv = weights.pickRows(grouped, groupedRows(shape, false));
            z = weights.pickRows(grouped, groupedRows(shape, true));
        } else {
            qkv = weights.matrix(Role.DELTA_QKV, layer, shape.channels(), hidden);
            z = weights.matrix(Role.DELTA_Z, layer, shape.valueColumns(), hidden);
        }
        if (weights.has(Role.DELTA_BETA_ALPHA, layer)) {
            HostTensor grouped = weights.matrix(Role.DELTA_BETA_ALPHA, layer, 2 * shape.valueHeads(), hidden);
            return new DeltaProjections(
                    qkv,
                    z,
                    weights.pickRows(grouped, scalarRows(shape, 0)),
                    weights.pickRows(grouped, scalarRows(shape, 1)));
        }
        return new DeltaProjections(
                qkv,
                z,
                weights.matrix(Role.DELTA_BETA, layer, shape.valueHeads(), hidden),
                weights.matrix(Role.DELTA_ALPHA, layer, shape.valueHeads(), hidden));
    }

    /** Rows of [q | k | v of the group | z of the group] for one key head after the other. */
    private static int[] groupedRows(DeltaShape shape, boolean gates) {
        int ratio = shape.valueHeads() / shape.keyHeads();
        int valueRows = ratio * shape.valueSize();
        int stride = 2 * shape.keySize() + 2 * valueRows;
        int[] rows = new int[gates ? shape.valueColumns() : shape.channels()];
        int next = 0;
        if (gates) {
            for (int head = 0; head < shape.keyHeads(); head++) {
                next = fill(rows, next, head * stride + 2 * shape.keySize() + valueRows, valueRows);
            }
            return rows;
        }
        for (int part = 0; part < 2; part++) {
            for (int head = 0; head < shape.keyHeads(); head++) {
                next = fill(rows, next, head * stride + part * shape.keySize(), shape.keySize());
            }
        }
        for (int head = 0; head < shape.keyHeads(); head++) {
            next = fill(rows, next, head * stride + 2 * shape.keySize(), valueRows);
        }
        return rows;
    }

    /** Rows of [beta of the group | alpha of the group] for one key head after the other. */
    private static int[] scalarRows(DeltaShape shape, int part) {
        int ratio = shape.valueHeads() / shape.keyHeads();
        int[] rows = new int[shape.valueHeads()];
        int next = 0;
        for (int head = 0; head < shape.keyHeads(); head++) {
            next = fill(rows, next, (2 * head + part) * ratio, ratio);
        }
        return rows;
    }

    private static int fill(int[] rows, int at, int first, int count) {
        for (int i = 0; i < count; i++) {
            rows[at + i] = first + i;
        }
        return at + count;
    }
}
