package dev.strata.os;

/** The pages behind a mapping, best first. */
public enum PageKind {
    /** Reserved 2 MiB pages (hugetlb): always resident. */
    RESERVED_HUGE("2 MiB pages (reserved)"),
    /** The kernel was asked for transparent 2 MiB pages and gives them as far as free memory is contiguous. */
    TRANSPARENT_HUGE("2 MiB pages (transparent)"),
    SMALL("4 KiB pages");

    private final String text;

    PageKind(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
