// The tail of a published phase-1 log of 16 GPUs (BERT-large, tqdm): first and last redraw of the
// last seven optimizer steps, 64 micro-steps each, and what was said after each.
#pragma once

#include <string>

namespace bertbench::test {

inline const std::string kPublishedSteps =
    "Iteration:   5%|▌ | 598/11337 [03:16<1:03:39,  2.81it/s]\r"
    "Iteration:   6%|▌ | 661/11337 [03:37<57:35,  3.09it/s]Step 7032 LR 0.00017518714874213283\n"
    "Step:7032 Average Loss = 1.4574737548828125 Step Loss = 1.6171875 LR 0.006\n"
    "Iteration:   6%|▌ | 662/11337 [03:37<1:05:44,  2.71it/s]\r"
    "Iteration:   6%|▋ | 725/11337 [03:57<57:13,  3.09it/s]Step 7033 LR 0.00015992325525180656\n"
    "Step:7033 Average Loss = 1.443267822265625 Step Loss = 1.4541015625 LR 0.006\n"
    "Iteration:   6%|▋ | 726/11337 [03:58<1:06:21,  2.66it/s]\r"
    "Iteration:   7%|▋ | 789/11337 [04:18<56:53,  3.09it/s]Step 7034 LR 0.0001430397079704331\n"
    "Step:7034 Average Loss = 1.4429473876953125 Step Loss = 1.462890625 LR 0.006\n"
    "Iteration:   7%|▋ | 790/11337 [04:19<1:04:03,  2.74it/s]\r"
    "Iteration:   8%|▊ | 853/11337 [04:39<56:36,  3.09it/s]Step 7035 LR 0.0001238760208522985\n"
    "Step:7035 Average Loss = 1.449462890625 Step Loss = 1.4208984375 LR 0.006\n"
    "Iteration:   8%|▊ | 854/11337 [04:40<1:01:47,  2.83it/s]\r"
    "Iteration:   8%|▊ | 917/11337 [05:00<56:11,  3.09it/s]Step 7036 LR 0.00010114434748482682\n"
    "Step:7036 Average Loss = 1.446441650390625 Step Loss = 1.435546875 LR 0.006\n"
    "Iteration:   8%|▊ | 918/11337 [05:01<1:04:16,  2.70it/s]\r"
    "Iteration:   9%|▊ | 981/11337 [05:21<55:52,  3.09it/s]Step 7037 LR 7.151985398522354e-05\n"
    "Step:7037 Average Loss = 1.46856689453125 Step Loss = 1.4853515625 LR 0.006\n"
    "Iteration:   9%|▊ | 982/11337 [05:21<1:04:48,  2.66it/s]\r"
    "Iteration:   9%|▉ | 1045/11337 [05:42<55:32,  3.09it/s]Step 7038 LR 0.0\n";

}  // namespace bertbench::test
