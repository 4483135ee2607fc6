package dev.strata.format.quant;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GridTest {
    private static final Map<Grid, String> SHA_256 = Map.of(
            Grid.IQ2_XXS, "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54",
            Grid.IQ2_XS, "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de",
            Grid.IQ2_S, "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88",
            Grid.IQ3_XXS, "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d",
            Grid.IQ3_S, "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f",
            Grid.IQ1_S, "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a");

    @Test
    void tablesAreThePublishedOnes() throws NoSuchAlgorithmException {
        for (Grid grid : Grid.values()) {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(grid.bytes());
            assertEquals(SHA_256.get(grid), HexFormat.of().formatHex(digest), grid.name());
            assertEquals(grid.bytes().length, grid.rows() * grid.width());
        }
    }
}
