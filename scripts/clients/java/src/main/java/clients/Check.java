package clients;

/** A tiny runner: one line for each check, exit code 1 when one failed. */
final class Check {
    interface Body {
        void run() throws Exception;
    }

    private int failed;

    void check(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError e) {
            failed++;
            System.out.println("FAILED " + name + ": " + e);
            e.printStackTrace(System.out);
        }
    }

    static void ok(boolean condition, Object what) {
        if (!condition) {
            throw new AssertionError("not so: " + what);
        }
    }

    void exit() {
        System.exit(failed == 0 ? 0 : 1);
    }

    static String url() {
        String url = System.getenv("STRATA_URL");
        return url == null ? "http://127.0.0.1:8080" : url;
    }
}
