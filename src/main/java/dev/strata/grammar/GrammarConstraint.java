package dev.strata.grammar;

import dev.strata.sampling.TokenConstraint;

/** The place of one sequence in a grammar. */
final class GrammarConstraint implements TokenConstraint {
    private final GrammarMachine machine;
    private GrammarMachine.State state;
    private boolean ended;

    GrammarConstraint(GrammarMachine machine) {
        this(machine, machine.start(), false);
    }

    private GrammarConstraint(GrammarMachine machine, GrammarMachine.State state, boolean ended) {
        this.machine = machine;
        this.state = state;
        this.ended = ended;
    }

    @Override
    public long[] allowed() {
        return ended ? machine.vocabulary().endOnly() : machine.mask(state);
    }

    /** Whether the text may go on with these bytes, without taking them. */
    boolean reads(byte[] bytes) {
        return !ended && !machine.read(state, bytes).isDead();
    }

    /** Takes the rest of a token that began before the rule did. */
    void take(byte[] bytes) {
        GrammarMachine.State next = machine.read(state, bytes);
        if (ended || next.isDead()) {
            throw new IllegalArgumentException("what the token holds behind the reasoning is not allowed");
        }
        state = next;
    }

    @Override
    public void accept(int token) {
        if (machine.vocabulary().isEnd(token)) {
            ended = true;
            return;
        }
        GrammarMachine.State next = ended
                ? null
                : machine.read(state, machine.vocabulary().tokenizer().bytes(token));
        if (next == null || next.isDead()) {
            throw new IllegalArgumentException("token " + token + " is not allowed here");
        }
        state = next;
    }

    @Override
    public boolean finished() {
        return ended || state.isFinal();
    }

    @Override
    public GrammarConstraint fork() {
        return new GrammarConstraint(machine, state, ended);
    }
}
