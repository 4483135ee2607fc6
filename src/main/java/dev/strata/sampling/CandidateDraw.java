package dev.strata.sampling;

import dev.strata.device.Picks;

/** Draws from the likeliest tokens of a row when top_k, top_p and min_p leave no others. Scratch memory for one thread. */
final class CandidateDraw {
    /** The candidates do not tell. */
    static final int UNKNOWN = -1;

    private final double[] weights = new double[Picks.CANDIDATES];

    /** The token, or {@link #UNKNOWN} when tokens behind the candidates may be wanted. */
    int draw(Picks picks, int row, SamplingSettings settings, double uniform) {
        int known = picks.candidates(row);
        int kept = 0;
        double sum = 0;
        double wanted = settings.topK() > 0 ? Double.MAX_VALUE : settings.topP() * picks.sum(row);
        int most = settings.topK() > 0 ? settings.topK() : Integer.MAX_VALUE;
        while (kept < known && kept < most && sum < wanted) {
            double weight = Math.exp((picks.logit(row, kept) - picks.largest(row)) / settings.temperature());
            weights[kept++] = weight;
            sum += weight;
        }
        if (kept < most && sum < wanted) {
            return UNKNOWN;
        }
        if (settings.topK() > 0 && settings.topP() < 1) {
            kept = reaching(settings.topP() * sum, kept);
        }
        while (kept > 1 && weights[kept - 1] < settings.minP()) {
            kept--;
        }
        double left = uniform * reach(kept);
        int last = 0;
        for (int i = 0; i < kept; i++) {
            last = i;
            left -= weights[i];
            if (left < 0) {
                break;
            }
        }
        return picks.candidate(row, last);
    }

    private int reaching(double wanted, int kept) {
        double sum = 0;
        for (int i = 0; i < kept; i++) {
            sum += weights[i];
            if (sum >= wanted) {
                return i + 1;
            }
        }
        return kept;
    }

    private double reach(int kept) {
        double sum = 0;
        for (int i = 0; i < kept; i++) {
            sum += weights[i];
        }
        return sum;
    }
}
