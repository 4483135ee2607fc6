package dev.strata.cuda;

/** A kernel of a loaded module. */
final class Kernel {
    private final String name;
    private final Object handle;
    private final int firstArgument;

    /** @param firstArgument where the arguments begin in their buffer: not at 0 when the first one's alignment asks for it */
    Kernel(String name, Object handle, int firstArgument) {
        this.name = name;
        this.handle = handle;
        this.firstArgument = firstArgument;
    }

    int firstArgument() {
        return firstArgument;
    }

    String name() {
        return name;
    }

    Object handle() {
        return handle;
    }
}
