#include <iostream>

#include "workloads/bert/train/run.h"

int main(int argc, char** argv) { return bert::run_bert_train(argc, argv, std::cout, std::cerr); }
