package dev.strata.api;

import java.util.List;

/**
 * What clients may know of the model.
 *
 * @param id the name it is served under; {@code aliases} are accepted too
 * @param created seconds since the epoch
 */
public record ModelInfo(
        String id,
        List<String> aliases,
        String architecture,
        long parameters,
        int contextLength,
        int trainedContextLength,
        int vocabulary,
        int hidden,
        long created,
        boolean reasoning,
        boolean tools,
        String chatTemplate,
        String beginText,
        String endText,
        boolean fillInTheMiddle) {}
