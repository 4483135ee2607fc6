package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import java.util.ArrayList;
import java.util.List;

/**
 * One way to read experts from a drive that is compared with others.
 *
 * @param mapped whether the mapped file is read, else past the page cache
 * @param batch blobs a request
 * @param keepView whether the mapped view stays open beside unbuffered reads
 * @param chunk tokens of a pass
 * @param decode whether answers are written instead of a prompt read
 */
public record FileArm(boolean mapped, int batch, boolean keepView, int chunk, boolean decode) {
    private static final int CHUNK = 8192;
    private static final int LONG_CHUNK = 32_768;

    /** The whole table. */
    public static List<FileArm> all() {
        List<FileArm> arms = new ArrayList<>();
        arms.add(new FileArm(true, 8, true, CHUNK, false));
        for (int batch : new int[] {1, 4, 8, 16}) {
            arms.add(new FileArm(false, batch, false, CHUNK, false));
        }
        arms.add(new FileArm(false, 8, true, CHUNK, false));
        arms.add(new FileArm(false, 8, false, LONG_CHUNK, false));
        arms.add(new FileArm(true, 8, true, CHUNK, true));
        arms.add(new FileArm(false, 8, false, CHUNK, true));
        return arms;
    }

    /**
     * All arms, or those in a list such as {@code mapped,1,8,8+view,8@32768,mapped+decode,8+decode}.
     *
     * @throws IllegalArgumentException naming what cannot be read
     */
    public static List<FileArm> parse(String text) {
        if (text.equals("all")) {
            return all();
        }
        List<FileArm> arms = new ArrayList<>();
        for (String name : text.split(",")) {
            arms.add(one(name.strip()));
        }
        return arms;
    }

    private static FileArm one(String name) {
        String[] words = name.split("\\+");
        String[] head = words[0].split("@");
        boolean mapped = head[0].equals("mapped");
        boolean view = mapped;
        boolean decode = false;
        for (int i = 1; i < words.length; i++) {
            switch (words[i]) {
                case "view" -> view = true;
                case "decode" -> decode = true;
                default ->
                    throw new IllegalArgumentException(name + ": an arm has +view and +decode, not +" + words[i]);
            }
        }
        try {
            int batch = mapped ? 8 : Integer.parseInt(head[0]);
            int chunk = head.length > 1 ? Integer.parseInt(head[1]) : CHUNK;
            if (batch >= 1 && batch <= 32 && chunk >= 1 && head.length <= 2) {
                return new FileArm(mapped, batch, view, chunk, decode);
            }
        } catch (NumberFormatException notANumber) {
            // Told below, with the numbers out of range.
        }
        throw new IllegalArgumentException(
                name + ": an arm is mapped or 1 to 32 blobs a request, with @CHUNK, +view and +decode behind it");
    }

    public String name() {
        return (mapped ? "mapped" : "batch " + batch + (keepView ? ", view kept" : ", view closed"))
                + (decode ? ", decode" : ", chunks of " + chunk);
    }

    Options apply(Options options, long budgetGib, int rows) {
        TierOptions tiers = mapped
                ? options.tiers().withResidence(TierOptions.Residence.MAPPED, 0)
                : options.tiers().withResidence(TierOptions.Residence.AUTO, budgetGib);
        return options.withEngine(options.engine().withChunk(rows))
                .withTiers(tiers)
                .withVariables(options.variables()
                        .with(Variable.STAGER_BATCH, Integer.toString(batch))
                        .with(Variable.KEEP_MAPPING, keepView ? "1" : "0"));
    }
}
