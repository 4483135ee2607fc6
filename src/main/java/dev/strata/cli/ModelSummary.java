package dev.strata.cli;

import dev.strata.model.Hyperparameters;
import dev.strata.model.ModelConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A model's sizes in a few lines for people. */
record ModelSummary(Hyperparameters sizes) {
    List<String> lines() {
        ModelConfig config = sizes.config();
        List<String> lines = new ArrayList<>();
        lines.add(String.format(
                Locale.ROOT,
                "%s (%s): %d layers%s, hidden %d, vocabulary %d, context %d",
                config.name(),
                config.architecture().ggufName(),
                config.layers(),
                config.draftLayers() > 0 ? " and a draft layer" : "",
                config.hidden(),
                config.vocabulary(),
                config.trainedContext()));
        Hyperparameters.Experts experts = sizes.experts();
        lines.add(String.format(
                Locale.ROOT,
                "%d experts a layer, %d used, %d wide%s",
                experts.count(),
                experts.used(),
                experts.intermediate(),
                experts.sharedIntermediate() > 0 ? "; a shared one of " + experts.sharedIntermediate() : ""));
        long attention = sizes.mixers().stream()
                .limit(config.layers())
                .filter(mixer -> mixer == Hyperparameters.Mixer.ATTENTION)
                .count();
        lines.add(attention + " attention layers, " + (config.layers() - attention) + " gated DeltaNet layers"
                + (sizes.hyper() == null ? "" : ", " + sizes.hyper().streams() + " residual streams")
                + (sizes.indexer() == null ? "" : ", block-sparse attention")
                + (sizes.ngram() == null ? "" : ", an n-gram table"));
        return lines;
    }
}
