package dev.strata;

/** Entry point of the {@code strata} command. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) {
        System.out.println("strata");
    }
}
