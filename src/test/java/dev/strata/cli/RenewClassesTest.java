package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.StackMapsOption;
import java.lang.classfile.Opcode;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher's program that lets old libraries into the cache of loaded classes. */
class RenewClassesTest {
    private static final int JAVA_5 = 49;
    private static final int JAVA_7 = 51;

    @Test
    void anOldClassIsWrittenAnewAndDoesTheSame(@TempDir Path folder) throws Exception {
        Path old = jar(folder.resolve("old.jar"), JAVA_5);
        Path fresh = jar(folder.resolve("fresh.jar"), JAVA_7);
        byte[] before = Files.readAllBytes(fresh);
        renew(folder, old, fresh);
        assertArrayEquals(before, Files.readAllBytes(fresh), "nothing in it is old");
        try (URLClassLoader loader = new URLClassLoader(new URL[] {old.toUri().toURL()}, null)) {
            try (InputStream in = loader.getResourceAsStream("Larger.class")) {
                assertNotNull(in);
                assertEquals(JAVA_7, in.readAllBytes()[7]);
            }
            // Loading checks the tables that were added.
            Object larger = loader.loadClass("Larger")
                    .getMethod("of", int.class, int.class)
                    .invoke(null, 3, 7);
            assertEquals(7, larger);
        }
    }

    private static void renew(Path folder, Path... jars) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        assertNotNull(compiler, "tests run on a JDK");
        Path classes = Files.createDirectory(folder.resolve("classes"));
        String source = "scripts/lib/RenewClasses.java";
        assertEquals(0, compiler.run(null, null, null, "-proc:none", "-d", classes.toString(), source));
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
            String[] names = new String[jars.length];
            for (int i = 0; i < jars.length; i++) {
                names[i] = jars[i].toString();
            }
            Method main = loader.loadClass("RenewClasses").getMethod("main", String[].class);
            main.setAccessible(true);
            main.invoke(null, (Object) names);
        }
    }

    /** A class with a branch, which needs a table from Java 7 on. */
    private static Path jar(Path path, int version) throws IOException {
        boolean tables = version >= JAVA_7;
        byte[] bytes = ClassFile.of(tables ? StackMapsOption.GENERATE_STACK_MAPS : StackMapsOption.DROP_STACK_MAPS)
                .build(
                        ClassDesc.of("Larger"),
                        type -> type.withVersion(version, 0)
                                .withFlags(ClassFile.ACC_PUBLIC)
                                .withMethodBody(
                                        "of",
                                        MethodTypeDesc.of(
                                                ConstantDescs.CD_int, ConstantDescs.CD_int, ConstantDescs.CD_int),
                                        ClassFile.ACC_PUBLIC | ClassFile.ACC_STATIC,
                                        code -> code.iload(0)
                                                .iload(1)
                                                .ifThenElse(
                                                        Opcode.IF_ICMPGE,
                                                        first -> first.iload(0).ireturn(),
                                                        second ->
                                                                second.iload(1).ireturn())));
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(path))) {
            out.putNextEntry(new JarEntry("Larger.class"));
            out.write(bytes);
            out.closeEntry();
        }
        return path;
    }
}
