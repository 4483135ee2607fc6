package dev.strata.device;

/** Chosen experts of every row: {@code used} ids (int32) and weights (float32) a row, in descending order of score. */
public interface Routing {
    int rows();

    int used();

    /** Buffer of int32 ids, {@code rows x used}. */
    Buffer ids();

    /** [rows, used] */
    Tensor weights();
}
