package dev.strata;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The rules of the house that a compiler does not know. */
@AnalyzeClasses(packages = "dev.strata", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    private static final String[] ABOVE_DEVICE = {
        "dev.strata.cli..", "dev.strata.server..", "dev.strata.engine..", "dev.strata.sampling..",
        "dev.strata.grammar..", "dev.strata.chat..", "dev.strata.tokenizer..", "dev.strata.model..",
        "dev.strata.prefill..", "dev.strata.decode.."
    };

    @ArchTest
    static final ArchRule theEngineKnowsNeitherServerNorCommandLine = noClasses()
            .that()
            .resideInAPackage("dev.strata.engine..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.strata.server..", "dev.strata.cli..", "io.netty..", "picocli..");

    @ArchTest
    static final ArchRule theServerReachesTheEngineThroughTheApi = noClasses()
            .that()
            .resideInAPackage("dev.strata.server..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.strata.engine..", "dev.strata.model..", "dev.strata.device..");

    @ArchTest
    static final ArchRule backendsKnowNothingAboveThem = noClasses()
            .that()
            .resideInAnyPackage("dev.strata.cuda..", "dev.strata.cpu..", "dev.strata.device..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(ABOVE_DEVICE);

    @ArchTest
    static final ArchRule oneFactoryNamesTheBackends = noClasses()
            .that()
            .resideInAnyPackage(
                    "dev.strata.server..",
                    "dev.strata.engine..",
                    "dev.strata.model..",
                    "dev.strata.sampling..",
                    "dev.strata.chat..",
                    "dev.strata.tokenizer..",
                    "dev.strata.format..")
            .and()
            .doNotHaveFullyQualifiedName("dev.strata.engine.Backends")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("dev.strata.cuda..", "dev.strata.cpu..", "dev.strata.device.reference..");

    @ArchTest
    static final ArchRule formatsAreALeaf = noClasses()
            .that()
            .resideInAPackage("dev.strata.format..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(ABOVE_DEVICE);

    @ArchTest
    static final ArchRule jsonStaysWhereTextIs = noClasses()
            .that()
            .resideOutsideOfPackages(
                    "dev.strata.server..",
                    "dev.strata.config..",
                    "dev.strata.format..",
                    "dev.strata.tokenizer..",
                    "dev.strata.chat..",
                    "dev.strata.grammar..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("com.fasterxml.jackson..");

    @ArchTest
    static final ArchRule onlyTheCudaRoomKnowsCuda = noClasses()
            .that()
            .resideOutsideOfPackages("dev.strata.cuda..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.bytedeco.cuda..");

    @ArchTest
    static final ArchRule onlyThreeRoomsTouchNativeThings = noClasses()
            .that()
            .resideOutsideOfPackages("dev.strata.cuda..", "dev.strata.cpu..", "dev.strata.os..")
            .should()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.lang.foreign.Linker")
            .orShould()
            .dependOnClassesThat()
            .resideInAPackage("org.bytedeco..");

    @ArchTest
    static final ArchRule picocliStaysInTheCommandLine = noClasses()
            .that()
            .resideOutsideOfPackages("dev.strata.cli..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("picocli..");

    @ArchTest
    static final ArchRule roomsDoNotDependOnEachOtherInCircles =
            slices().matching("dev.strata.(*)..").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule nothingWritesToTheConsoleButTheCommandLine = noClasses()
            .that()
            .resideOutsideOfPackages("dev.strata.cli..")
            .should()
            .accessField(System.class, "out")
            .orShould()
            .accessField(System.class, "err");

    @ArchTest
    static final ArchRule recordsOfTheApiAreFreeOfFrameworks = classes()
            .that()
            .resideInAPackage("dev.strata.api..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("dev.strata.api..", "java..", "org.jspecify..");
}
