package dev.strata.os;

/** What a program tells the kernel about its use of a mapped range. */
public enum Advice {
    /** Read soon: start reading ahead. */
    WILL_NEED,
    /** Not needed any more at present: anonymous contents are lost, file pages are read again on the next touch. */
    DONT_NEED,
    SEQUENTIAL,
    RANDOM,
    /** Back the range with 2 MiB pages where possible. */
    HUGE_PAGES
}
