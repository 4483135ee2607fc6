package dev.strata.cli;

/** How much is logged. */
enum LogLevel {
    TRACE,
    DEBUG,
    INFO,
    WARN,
    ERROR
}
