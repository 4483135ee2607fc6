package dev.strata.expert;

/**
 * Bytes of a file.
 *
 * @param file number of the file among a source's files
 */
public record FileSlice(int file, long offset, long bytes) {}
