package dev.strata.prefill;

import dev.strata.device.Event;
import dev.strata.prefill.PassTimeline.Mark;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Where the time of streamed passes went on the device, in milliseconds: the products' stream is at any time in one of the first five
 * states; the copies' stream has an account of its own.
 */
final class PassAccount {
    private int passes;
    private double whole;
    private double products;
    private double rest;
    private double waitedFirst;
    private double waitedLater;
    private double between;
    private double copying;

    /**
     * Adds a pass that is over.
     *
     * @param before end of the pass before it in the same prompt, or null
     */
    void add(PassTimeline pass, @Nullable Event before) {
        pass.endEvent().synchronize();
        passes++;
        Event last = pass.startEvent();
        int layer = -1;
        for (int group = 0; group < pass.order().size(); group++) {
            if (pass.has(Mark.COPY_BEGUN, group) && pass.has(Mark.COPY_DONE, group)) {
                copying += pass.event(Mark.COPY_DONE, group).millisSince(pass.event(Mark.COPY_BEGUN, group));
            }
            if (!pass.has(Mark.COMPUTED, group)) {
                continue;
            }
            rest += pass.event(Mark.REACHED, group).millisSince(last);
            double waited = pass.event(Mark.ARRIVED, group).millisSince(pass.event(Mark.REACHED, group));
            boolean first = pass.order().group(group).layer() != layer;
            layer = pass.order().group(group).layer();
            waitedFirst += first ? waited : 0;
            waitedLater += first ? 0 : waited;
            last = pass.event(Mark.COMPUTED, group);
            products += last.millisSince(pass.event(Mark.ARRIVED, group));
        }
        rest += pass.endEvent().millisSince(last);
        whole += pass.endEvent().millisSince(pass.startEvent());
        if (before != null) {
            between += pass.startEvent().millisSince(before);
        }
    }

    void clear() {
        passes = 0;
        whole = 0;
        products = 0;
        rest = 0;
        waitedFirst = 0;
        waitedLater = 0;
        between = 0;
        copying = 0;
    }

    int passes() {
        return passes;
    }

    /** Milliseconds of the passes and between them. */
    double millis() {
        return whole + between;
    }

    /** Share of the time of passes that waited for blobs. */
    double waitingShare() {
        return whole > 0 ? (waitedFirst + waitedLater) / whole : 0;
    }

    /** Milliseconds in which copies of groups were under way. */
    double copying() {
        return copying;
    }

    /** Adds the account to a timing line. */
    String text() {
        return String.format(
                Locale.ROOT,
                "products of experts %.1f, everything else of the layers %.1f, waited for blobs %.1f (%.1f %%; %.1f at the "
                        + "first groups of layers, %.1f later), %.1f between passes; copies under way %.1f ms",
                products,
                rest,
                waitedFirst + waitedLater,
                100 * waitingShare(),
                waitedFirst,
                waitedLater,
                between,
                copying);
    }
}
