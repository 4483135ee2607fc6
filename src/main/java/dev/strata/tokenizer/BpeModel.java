package dev.strata.tokenizer;

import java.util.List;

/**
 * What a tokenizer file says, container by container the same.
 *
 * @param vocabulary the tokens that merges make; empty where an id is an added token or has none
 * @param merges left and right ids in turn, best pair first
 * @param normalized whether text is brought to NFC before it is cut
 * @param ignoreMerges whether a piece that is a token as a whole is taken without merging
 * @param source file name for messages
 */
record BpeModel(
        TokenTable vocabulary,
        IntList merges,
        List<AddedTokens.Added> added,
        PreTokenizer preTokenizer,
        boolean normalized,
        boolean ignoreMerges,
        SpecialTokens special,
        String source) {}
