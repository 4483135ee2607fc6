# Sourced by the scripts: finds a JDK 25 or newer and exports JAVA_HOME, or says what to install.

strata_java_major() {
    "$1/bin/java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.specification.version = //p'
}

strata_find_java() {
    local candidate major
    for candidate in "${JAVA_HOME:-}" \
        "$(command -v javac >/dev/null 2>&1 && dirname "$(dirname "$(readlink -f "$(command -v javac)")")")" \
        /usr/lib/jvm/* /opt/java/* /opt/jdk* "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/* /usr/java/*; do
        [ -n "$candidate" ] && [ -x "$candidate/bin/javac" ] || continue
        major=$(strata_java_major "$candidate")
        if [ "${major:-0}" -ge 25 ] 2>/dev/null; then
            JAVA_HOME=$candidate
            export JAVA_HOME
            return 0
        fi
    done
    echo "strata: no JDK 25 found (looked at JAVA_HOME, PATH, /usr/lib/jvm and the usual folders)." >&2
    echo "strata: install one, for example the package temurin-25-jdk or openjdk-25-jdk, or set JAVA_HOME to it." >&2
    return 1
}

strata_need_maven() {
    if ! command -v mvn >/dev/null 2>&1; then
        echo "strata: Maven (mvn) is missing; install the package maven, version 3.8.7 or newer." >&2
        return 1
    fi
    # Libraries of older Mavens use what new virtual machines warn of, five lines at every start. A build is short, and the processor is
    # needed by the compilers that it starts.
    export MAVEN_OPTS="--sun-misc-unsafe-memory-access=allow --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${MAVEN_OPTS:-}"
}
