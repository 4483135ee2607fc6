package dev.strata.expert;

/** One expert of one layer; layers with experts are numbered from 0. */
public record ExpertKey(int layer, int expert) {}
