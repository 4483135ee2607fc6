package dev.strata.engine;

/** A fact for status pages that is made anew whenever it is asked for. */
@FunctionalInterface
interface LiveFigures {
    Object of(EngineCounters counters);
}
