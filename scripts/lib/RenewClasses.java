import static java.lang.classfile.ClassFile.StackMapsOption.GENERATE_STACK_MAPS;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;

/**
 * Writes jars anew whose classes are in the format of Java 5: the virtual machine keeps only newer ones in its cache of loaded classes, so
 * that it would read, check and link these at every start. What their methods do stays the same; the tables that the newer format asks for
 * are added. Jars without such classes are left alone.
 *
 *     java RenewClasses.java JAR ...
 */
final class RenewClasses {
    /** The first format that has those tables everywhere. */
    private static final int JAVA_7 = 51;

    private RenewClasses() {}

    public static void main(String[] jars) throws IOException {
        for (String jar : jars) {
            renew(Path.of(jar));
        }
    }

    private static void renew(Path path) throws IOException {
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        boolean changed = false;
        URL[] places = {path.toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(places);
                JarFile jar = new JarFile(path.toFile());
                JarOutputStream out = new JarOutputStream(written)) {
            ClassFile format = ClassFile.of(
                    GENERATE_STACK_MAPS,
                    ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofClassLoading(loader)));
            for (JarEntry entry : jar.stream().toList()) {
                byte[] bytes = jar.getInputStream(entry).readAllBytes();
                if (isOld(entry.getName(), bytes)) {
                    bytes = renewed(format, bytes);
                    changed = true;
                }
                out.putNextEntry(new JarEntry(entry.getName()));
                out.write(bytes);
                out.closeEntry();
            }
        }
        if (changed) {
            Path fresh = path.resolveSibling(path.getFileName() + ".renewed");
            Files.write(fresh, written.toByteArray());
            Files.move(fresh, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        }
    }

    private static boolean isOld(String name, byte[] bytes) {
        return name.endsWith(".class") && ((bytes[6] & 0xFF) << 8 | bytes[7] & 0xFF) < JAVA_7;
    }

    private static byte[] renewed(ClassFile format, byte[] bytes) {
        ClassModel old = format.parse(bytes);
        // Code that goes through a transform is written anew, with its tables.
        return format.transformClass(
                old,
                ClassTransform.transformingMethodBodies(CodeTransform.ACCEPT_ALL)
                        .andThen(ClassTransform.endHandler(classes -> classes.withVersion(JAVA_7, 0))));
    }
}
