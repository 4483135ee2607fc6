package dev.strata.server.http;

import dev.strata.api.ApiException;
import dev.strata.api.Delta;
import dev.strata.server.http.GenerationCall.Piece;
import java.util.ArrayList;
import java.util.List;

/** Puts the pieces of a request's answers together. */
public final class AnswerCollector {
    private final List<Answer> answers = new ArrayList<>();
    private final UsageTotal usage = new UsageTotal();
    private int unfinished;

    public AnswerCollector(int choices) {
        for (int i = 0; i < choices; i++) {
            answers.add(new Answer());
        }
        unfinished = choices;
    }

    /** @throws ApiException when the piece says that the request failed */
    public void add(Piece piece) {
        Answer answer = answers.get(piece.choice());
        answer.add(piece.delta());
        switch (piece.delta()) {
            case Delta.Finished finished -> {
                unfinished--;
                usage.add(piece.prompt(), finished.usage(), finished.timings());
            }
            case Delta.Failed failed -> throw new ApiException(failed.error());
            default -> {}
        }
    }

    public boolean isDone() {
        return unfinished == 0;
    }

    public List<Answer> answers() {
        return answers;
    }

    public UsageTotal usage() {
        return usage;
    }
}
