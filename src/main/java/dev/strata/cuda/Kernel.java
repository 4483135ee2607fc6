package dev.strata.cuda;

/** A kernel of a loaded module. */
final class Kernel {
    private final String name;
    private final Object handle;

    Kernel(String name, Object handle) {
        this.name = name;
        this.handle = handle;
    }

    String name() {
        return name;
    }

    Object handle() {
        return handle;
    }
}
