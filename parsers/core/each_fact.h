// The eight facts of which the identity of a cell is made, one after the other.
#pragma once

namespace bertbench {

/// Calls visit(name, of a, of b) for each of them. `a` and `b` are Facts, or have members of the
/// same names.
template <class A, class B, class Visit>
void for_each_fact(A& a, B& b, const Visit& visit) {
  visit("framework", a.framework, b.framework);
  visit("model", a.model, b.model);
  visit("precision", a.precision, b.precision);
  visit("sequence_length", a.sequence_length, b.sequence_length);
  visit("micro_batch_size", a.micro_batch_size, b.micro_batch_size);
  visit("gradient_accumulation_steps", a.gradient_accumulation_steps,
        b.gradient_accumulation_steps);
  visit("nodes", a.nodes, b.nodes);
  visit("gpus_per_node", a.gpus_per_node, b.gpus_per_node);
}

}  // namespace bertbench
