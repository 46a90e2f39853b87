bb_add_test(bert_compute_test
  SOURCES backend_test.cpp gradients_test.cpp kernels_test.cpp optimizer_test.cpp
  LIBS bert_core bert_reference LABELS workloads TIMEOUT 120)
