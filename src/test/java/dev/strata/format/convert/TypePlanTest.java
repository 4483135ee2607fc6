package dev.strata.format.convert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.format.QuantType;
import dev.strata.format.TensorRole;
import java.util.List;
import org.junit.jupiter.api.Test;

class TypePlanTest {
    private static QuantType choose(String plan, String name, int width, boolean draft) {
        OutputTensor tensor = new OutputTensor(
                name,
                List.of(2L, (long) width),
                new Rows.HeldRows(new float[2 * width], width),
                TensorRole.of(name),
                draft);
        return TypePlan.parse(plan).choose(tensor, QuantType.BF16);
    }

    @Test
    void rolesOverrideTheDefault() {
        String plan = "Q8_0,experts=F16,output=BF16";
        assertEquals(QuantType.F16, choose(plan, "blk.3.ffn_up_exps.weight", 64, false));
        assertEquals(QuantType.BF16, choose(plan, "output.weight", 64, false));
        assertEquals(QuantType.Q8_0, choose(plan, "blk.3.attn_q.weight", 64, false));
        assertEquals(QuantType.F32, choose(plan, "blk.3.ffn_gate_inp.weight", 64, false));
        assertEquals(QuantType.F32, choose(plan, "blk.3.ssm_conv1d.weight", 4, false));
    }

    @Test
    void theDraftLayerHasItsOwn() {
        String plan = "Q8_0,draft=F16,draft-experts=BF16";
        assertEquals(QuantType.F16, choose(plan, "blk.8.attn_q.weight", 64, true));
        assertEquals(QuantType.BF16, choose(plan, "blk.8.ffn_up_exps.weight", 64, true));
        assertEquals(QuantType.Q8_0, choose(plan, "blk.7.attn_q.weight", 64, false));
    }

    @Test
    void namesWinAndDownProjectionsCanDiffer() {
        String plan = "keep,experts=Q8_0,experts-down=F16,blk.0.*=F32";
        assertEquals(QuantType.F32, choose(plan, "blk.0.ffn_down_exps.weight", 64, false));
        assertEquals(QuantType.F16, choose(plan, "blk.1.ffn_down_exps.weight", 64, false));
        assertEquals(QuantType.Q8_0, choose(plan, "blk.1.ffn_up_exps.weight", 64, false));
        assertEquals(QuantType.BF16, choose(plan, "blk.1.attn_k.weight", 64, false));
    }

    @Test
    void blocksThatDoNotDivideTheRowsFallBack() {
        assertEquals(QuantType.Q8_0, TypePlan.fitting(QuantType.Q6_K, 640));
        assertEquals(QuantType.IQ4_NL, TypePlan.fitting(QuantType.IQ4_XS, 160));
        assertEquals(QuantType.IQ4_NL, TypePlan.fitting(QuantType.NVFP4, 160));
        assertEquals(QuantType.Q2_0, TypePlan.fitting(QuantType.IQ2_XS, 320));
        assertEquals(QuantType.F16, TypePlan.fitting(QuantType.Q8_0, 40));
        assertEquals(QuantType.Q4_K, TypePlan.fitting(QuantType.Q4_K, 2560));
    }

    @Test
    void mistakesAreNamed() {
        String role =
                String.valueOf(assertThrows(IllegalArgumentException.class, () -> TypePlan.parse("Q8_0,expert=F16"))
                        .getMessage());
        assertTrue(role.contains("unknown role expert;") && role.contains("embedding"), role);
        String type = String.valueOf(assertThrows(IllegalArgumentException.class, () -> TypePlan.parse("Q9_0"))
                .getMessage());
        assertTrue(type.contains("type Q9_0") && type.contains("Q8_0"), type);
    }
}
