package dev.strata.engine;

/**
 * The rows of one sequence in a pass.
 *
 * @param past tokens of it that the model had before
 * @param drafts rows at the end that are guesses
 */
record Part(Sequence sequence, int firstRow, int rows, int past, int drafts) {
    int end() {
        return firstRow + rows;
    }
}
