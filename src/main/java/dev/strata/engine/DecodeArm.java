package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/**
 * One setting of decode with a partial cache: how large the card is, and who computes what the cache misses.
 *
 * @param gib memory of the card; 0: of any size with next to nothing resident, -1: the whole card
 */
public record DecodeArm(double gib, Share share) {
    /** Who computes missed experts. */
    public enum Share {
        /** The processor. */
        POOL,
        /** The card, which copies them over the link once a step. */
        LINK,
        /** The card, whose products read them in place over the link. */
        IN_PLACE,
        /** Both, by measured rates. */
        BOTH;

        String label() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** Every card with every share, in lists such as {@code none,12,16/both,all} and {@code pool,link,both,in-place}; a card may name its own share. */
    public static List<DecodeArm> parse(String cards, String shares) {
        List<DecodeArm> arms = new ArrayList<>();
        for (String card : cards.split(",")) {
            int slash = card.indexOf('/');
            double gib = gib((slash < 0 ? card : card.substring(0, slash)).strip());
            for (String share : slash < 0 ? shares.split(",") : new String[] {card.substring(slash + 1)}) {
                arms.add(new DecodeArm(gib, share(share.strip())));
            }
        }
        return arms;
    }

    private static double gib(String card) {
        if (card.equals("none") || card.equals("all")) {
            return card.equals("none") ? 0 : -1;
        }
        try {
            double gib = Double.parseDouble(card);
            if (gib > 0) {
                return gib;
            }
        } catch (NumberFormatException notANumber) {
            // Told below, with the numbers out of range.
        }
        throw new IllegalArgumentException("a card is none, all or a number of GiB, not " + card);
    }

    private static Share share(String name) {
        for (Share share : Share.values()) {
            if (share.label().equals(name)) {
                return share;
            }
        }
        throw new IllegalArgumentException("a share is pool, link, in-place or both, not " + name);
    }

    public String name() {
        String card = gib == 0 ? "none" : gib < 0 ? "all" : String.format(Locale.ROOT, "%.0f", gib);
        return card + "/" + share.label();
    }

    /** The options with this arm's settings. */
    Options apply(Options options) {
        TierOptions.Misses standard = options.tiers().misses();
        OptionalDouble link = switch (share) {
            case POOL -> OptionalDouble.of(0);
            case LINK, IN_PLACE -> OptionalDouble.of(1);
            case BOTH -> OptionalDouble.empty();
        };
        TierOptions tiers =
                options.tiers().withMisses(new TierOptions.Misses(link, standard.poolWorkers(), standard.affinity()));
        if (gib > 0) {
            tiers = tiers.withVramLimitGib(gib);
        } else if (gib == 0) {
            tiers = tiers.withCacheSlots(1);
        }
        return options.withTiers(tiers)
                .withVariables(options.variables().with(Variable.LINK_PULL, share == Share.IN_PLACE ? "0" : "1"));
    }
}
