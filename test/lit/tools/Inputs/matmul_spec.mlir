// A tuning spec: products of half-precision matrices take workgroups of one wavefront.
module @spec attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint
} {
  transform.named_sequence @configure(
      %op: !transform.any_op {transform.readonly},
      %config: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %config
      : !transform.any_op, !transform.any_param
    transform.yield
  }

  transform.named_sequence @match_matmul(%op: !transform.any_op {transform.readonly})
      -> (!transform.any_op, !transform.any_param) {
    %batch, %m, %n, %k = transform.iree.match.contraction %op,
      lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>]
      : !transform.any_op -> !transform.param<i64>
    %config = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1],
        subgroup_basis = [[1, 1, 1], [0, 1, 2]], reduction = [0, 0, 16], workgroup = [16, 16, 0]}>,
      translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1]
        subgroup_size = 64>> -> !transform.any_param
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }

  transform.named_sequence @__kernel_config(%op: !transform.any_op {transform.consumed})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %op @match_matmul -> @configure
      : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
