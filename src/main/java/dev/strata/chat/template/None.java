package dev.strata.chat.template;

/** Python's None. */
enum None {
    NONE
}
