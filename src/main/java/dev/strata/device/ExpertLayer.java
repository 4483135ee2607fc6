package dev.strata.device;

/** The routed experts of one layer as a backend reaches them: in RAM, in slots of device memory, or through a source. */
public interface ExpertLayer {
    ExpertLayout layout();

    /** Whether {@link Ops#expect} helps: experts are read from files when they are needed. */
    default boolean readsAhead() {
        return false;
    }
}
