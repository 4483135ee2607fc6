package dev.strata.chat.template;

import java.util.List;

/** The tokens of a template with a position, and the errors of both parsers. */
final class TokenStream {
    /** Deeper nesting would only serve to exhaust the stack. */
    private static final int DEEPEST = 150;

    private final List<Token> tokens;
    private int at;
    private int depth;

    TokenStream(List<Token> tokens) {
        this.tokens = tokens;
    }

    Token peek() {
        return tokens.get(at);
    }

    Token peek(int ahead) {
        return tokens.get(Math.min(at + ahead, tokens.size() - 1));
    }

    Token next() {
        Token token = tokens.get(at);
        if (at + 1 < tokens.size()) {
            at++;
        }
        return token;
    }

    boolean takeOperator(String text) {
        boolean found = peek().isOperator(text);
        if (found) {
            next();
        }
        return found;
    }

    boolean takeName(String text) {
        boolean found = peek().isName(text);
        if (found) {
            next();
        }
        return found;
    }

    void expectOperator(String text) {
        if (!takeOperator(text)) {
            throw wrong("expected '" + text + "' but found " + peek().describe());
        }
    }

    void expectName(String text) {
        if (!takeName(text)) {
            throw wrong("expected '" + text + "' but found " + peek().describe());
        }
    }

    String name(String what) {
        if (peek().kind() != Token.Kind.NAME) {
            throw wrong("expected " + what + " but found " + peek().describe());
        }
        return (String) next().value();
    }

    void expect(Token.Kind kind, String text) {
        if (peek().kind() != kind) {
            throw wrong("expected '" + text + "' but found " + peek().describe());
        }
        next();
    }

    int line() {
        return peek().line();
    }

    void descend() {
        if (++depth > DEEPEST) {
            throw wrong("nesting is deeper than " + DEEPEST);
        }
    }

    void ascend() {
        depth--;
    }

    TemplateException wrong(String what) {
        return new TemplateException(what).at("template", line());
    }
}
