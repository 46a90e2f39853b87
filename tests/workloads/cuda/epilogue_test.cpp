// Matrix products through the cuBLASLt code itself, on a stand-in for the library: biases, GELU and
// their gradients inside products against the same by kernels, and against the fp64 reference.
#include "workloads/bert/cuda/products/epilogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/read_file.h"
#include "tests/scratch_folder.h"
#include "tests/workloads/cuda/support.h"
#include "tests/workloads/cuda/values.h"
#include "tests/workloads/fakes/fake_cublaslt.h"

namespace bert::cuda {
namespace {

using fakes::fake_cublaslt;
using ::testing::Contains;
using testing::difference;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using testing::random_values;
using testing::Values;
using Activation = Product::Activation;

class CudaEpilogue : public ::testing::Test {
 protected:
  void SetUp() override { fake_cublaslt() = {}; }
  void TearDown() override {
    EXPECT_THAT(fake_cublaslt().faults, IsEmpty());
    EXPECT_EQ(fake_cublaslt().alive, 0);
  }
};

/// Rows lie further apart than they are long.
TEST_F(CudaEpilogue, a_row_major_product_is_right_however_its_operands_are_stored) {
  constexpr std::int64_t m = 3, n = 5, k = 4;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Product p;
      p.transpose_a = transpose_a;
      p.transpose_b = transpose_b;
      p.m = m;
      p.n = n;
      p.k = k;
      p.lda = (transpose_a ? m : k) + 1;
      p.ldb = (transpose_b ? k : n) + 2;
      p.ldc = n + 3;
      Values<float> a(64), b(64), c(64), expected(64);
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i * 7 % 11);
        b[i] = static_cast<float>(i * 5 % 13);
      }
      p.a = a.data();
      p.b = b.data();
      p.c = c.data();
      make_matmul({})->run(p, nullptr);
      for (std::int64_t row = 0; row < m; ++row) {
        for (std::int64_t column = 0; column < n; ++column) {
          float& sum = expected[static_cast<std::size_t>(row * p.ldc + column)];
          for (std::int64_t i = 0; i < k; ++i) {
            sum +=
                a[static_cast<std::size_t>(transpose_a ? i * p.lda + row : row * p.lda + i)] *
                b[static_cast<std::size_t>(transpose_b ? column * p.ldb + i : i * p.ldb + column)];
          }
        }
      }
      EXPECT_THAT(c, ::testing::ElementsAreArray(expected)) << transpose_a << transpose_b;
    }
  }
}

enum class Kind { bias, gelu, gelu_backward, weight };

struct Sizes {
  std::int64_t m = 24, n = 40, k = 16, sum_count = 0;
};

/// One product with all that stands around it.
template <typename T, typename Output>
struct Around {
  Values<T> a, b, bias, aux;
  Values<Output> c;
  Values<float> sums, partials;
  Product product;

  Around(Kind kind, const Sizes& size, DType type, DType output) {
    const auto count = [](std::int64_t x, std::int64_t y) {
      return static_cast<std::size_t>(x * y);
    };
    a = random_values<T>(count(size.m, size.k), 1);
    b = random_values<T>(count(size.n, size.k), 2);
    bias = random_values<T>(static_cast<std::size_t>(size.n), 3);
    aux = random_values<T>(count(size.m, size.n), 4);
    c = random_values<Output>(count(size.m, size.n), 5);
    Product& p = product;
    p.m = size.m;
    p.n = p.ldc = size.n;
    p.k = size.k;
    p.a = a.data();
    p.b = b.data();
    p.c = c.data();
    p.type = type;
    p.output = output;
    p.lda = size.k;
    p.ldb = size.n;
    const std::int64_t summed = kind == Kind::weight ? size.m : size.n;
    sums = random_values<float>(static_cast<std::size_t>(summed), 6);
    partials = Values<float>(
        static_cast<std::size_t>(column_partials_bytes(std::max(size.m, size.k), summed)) / 4);
    if (kind == Kind::bias || kind == Kind::gelu) p.bias = bias.data();
    if (kind == Kind::gelu || kind == Kind::gelu_backward) {
      p.activation = kind == Kind::gelu ? Activation::gelu : Activation::gelu_backward;
      p.aux = aux.data();
    }
    if (kind == Kind::gelu_backward || kind == Kind::weight) {
      p.sums = sums.data();
      p.sum_count = size.sum_count > 0 ? size.sum_count : summed;
      p.accumulate_sums = true;
      p.partials = partials.data();
    }
    if (kind == Kind::weight) {
      p.transpose_a = true;
      p.lda = size.m;
      p.accumulate = true;
    }
  }
};

MatmulOptions options_of(Epilogues epilogues) {
  MatmulOptions options;
  options.epilogues = epilogues;
  return options;
}

/// Runs it inside and by kernels; the largest difference of the two.
template <typename T, typename Output>
double inside_against_kernels(Kind kind, const Sizes& size, DType type, DType output,
                              bool tf32 = false) {
  Around<T, Output> fused(kind, size, type, output);
  Around<T, Output> separate(kind, size, type, output);
  MatmulOptions options = options_of(Epilogues::inside);
  options.tf32 = tf32;
  make_matmul(options)->run(fused.product, nullptr);
  options.epilogues = Epilogues::kernels;
  make_matmul(options)->run(separate.product, nullptr);
  double worst = difference(fused.c, separate.c);
  if (kind == Kind::gelu) worst = std::max(worst, difference(fused.aux, separate.aux));
  if (fused.product.sums != nullptr) worst = std::max(worst, difference(fused.sums, separate.sums));
  return worst;
}

TEST_F(CudaEpilogue, what_a_product_does_itself_is_what_kernels_do) {
  const Sizes size;
  for (const Kind kind : {Kind::bias, Kind::gelu, Kind::gelu_backward}) {
    const int which = static_cast<int>(kind);
    EXPECT_LE((inside_against_kernels<float, float>(kind, size, DType::f32, DType::f32)), 1e-6)
        << which;
    EXPECT_LE((inside_against_kernels<float, float>(kind, size, DType::f32, DType::f32, true)),
              1e-6)
        << which << " in tf32";
    EXPECT_LE((inside_against_kernels<Bf16, Bf16>(kind, size, DType::bf16, DType::bf16)), 6e-3)
        << which;
    EXPECT_LE((inside_against_kernels<Half, Half>(kind, size, DType::f16, DType::f16)), 8e-4)
        << which;
  }
  EXPECT_LE((inside_against_kernels<float, float>(Kind::weight, size, DType::f32, DType::f32)),
            1e-6);
  EXPECT_LE((inside_against_kernels<Bf16, float>(Kind::weight, size, DType::bf16, DType::f32)),
            1e-6);
  EXPECT_LE((inside_against_kernels<Half, float>(Kind::weight, size, DType::f16, DType::f32)),
            1e-6);
  // By kernels are the first product with bias in fp32 and all those without epilogues; fp16's sums
  // would overflow inside.
  EXPECT_THAT(
      fake_cublaslt().products,
      ElementsAre(Pair(fakes::kDefault, 15), Pair(fakes::kBias, 4), Pair(fakes::kGeluAuxBias, 4),
                  Pair(fakes::kDGelu, 1), Pair(fakes::kDGeluBgrad, 3), Pair(fakes::kBgradB, 3)));
}

TEST_F(CudaEpilogue, the_first_sums_alone_are_kept_where_a_matrix_is_padded) {
  Sizes size;
  size.m = 32;
  size.sum_count = 29;
  EXPECT_LE((inside_against_kernels<Bf16, float>(Kind::weight, size, DType::bf16, DType::f32)),
            1e-6);
  EXPECT_EQ(fake_cublaslt().products[fakes::kBgradB], 1);
}

TEST_F(CudaEpilogue, what_the_library_has_no_algorithm_for_is_done_by_kernels) {
  const Sizes size;
  const auto backward = [&] {
    return inside_against_kernels<float, float>(Kind::gelu_backward, size, DType::f32, DType::f32);
  };
  auto& fake = fake_cublaslt();
  fake.refused = {fakes::kDGeluBgrad};
  EXPECT_LE(backward(), 1e-6);
  EXPECT_THAT(fake.products, ElementsAre(Pair(fakes::kDefault, 1), Pair(fakes::kDGelu, 1)));
  fake.refused_late = {fakes::kDGelu};
  fake.products.clear();
  EXPECT_EQ(backward(), 0);
  EXPECT_THAT(fake.products, ElementsAre(Pair(fakes::kDefault, 2)));
  fake.products.clear();
  fake.refused_late.clear();
  fake.refused = {fakes::kDGeluBgrad, fakes::kDGelu, fakes::kGeluAuxBias, fakes::kBgradB,
                  fakes::kBias};
  EXPECT_EQ(backward(), 0);
  EXPECT_EQ((inside_against_kernels<Bf16, Bf16>(Kind::gelu, size, DType::bf16, DType::bf16)), 0);
  EXPECT_EQ((inside_against_kernels<Bf16, Bf16>(Kind::bias, size, DType::bf16, DType::bf16)), 0);
  EXPECT_EQ((inside_against_kernels<Bf16, float>(Kind::weight, size, DType::bf16, DType::f32)), 0);
  EXPECT_EQ(fake.products[fakes::kDefault], 8);
  fake.refused.insert(fakes::kDefault);
  EXPECT_THROW(backward(), std::runtime_error);
}

TEST_F(CudaEpilogue, rows_of_a_gelu_that_are_no_multiple_of_8_apart_are_not_asked_for) {
  Sizes size;
  size.n = 36;
  EXPECT_EQ((inside_against_kernels<float, float>(Kind::gelu, size, DType::f32, DType::f32)), 0);
  EXPECT_THAT(fake_cublaslt().products, ElementsAre(Pair(fakes::kDefault, 2)));
}

TEST_F(CudaEpilogue, deterministic_products_take_no_sums_and_no_reductions_in_place) {
  const Sizes size;
  Around<Bf16, Bf16> backward(Kind::gelu_backward, size, DType::bf16, DType::bf16);
  Around<Bf16, float> weight(Kind::weight, size, DType::bf16, DType::f32);
  MatmulOptions options = options_of(Epilogues::inside);
  make_matmul(options)->run(weight.product, nullptr);
  EXPECT_EQ(fake_cublaslt().in_place, 1) << "what is to be seen";
  fake_cublaslt() = {};
  options.deterministic = true;
  const auto matmul = make_matmul(options);
  matmul->run(backward.product, nullptr);
  matmul->run(weight.product, nullptr);
  EXPECT_THAT(fake_cublaslt().products,
              ElementsAre(Pair(fakes::kDefault, 1), Pair(fakes::kDGelu, 1)));
  EXPECT_EQ(fake_cublaslt().in_place, 0);
  EXPECT_EQ(matmul->way_of(backward.product), "GELU backward inside, bias gradient by a kernel");
}

TEST_F(CudaEpilogue, says_which_way_a_product_goes) {
  const Around<Bf16, Bf16> gelu(Kind::gelu, {}, DType::bf16, DType::bf16);
  const Around<Bf16, Bf16> backward(Kind::gelu_backward, {}, DType::bf16, DType::bf16);
  const auto inside = make_matmul(options_of(Epilogues::inside));
  EXPECT_EQ(inside->way_of(gelu.product), "bias and GELU inside");
  EXPECT_EQ(inside->way_of(backward.product), "GELU backward and bias gradient inside");
  EXPECT_EQ(make_matmul({})->way_of(backward.product),
            "GELU backward and bias gradient by kernels");
  const ::bertbench::test::ScratchFolder folder;
  MatmulOptions options;
  options.algorithm_cache = folder.path("algorithms");
  const auto timed = make_matmul(options);
  EXPECT_EQ(timed->way_of(gelu.product), "bias and GELU inside or bias and GELU by kernels");
  fake_cublaslt().refused = {fakes::kGeluAuxBias};
  EXPECT_EQ(inside->way_of(gelu.product), "bias and GELU by kernels");
  EXPECT_EQ(timed->way_of(gelu.product), "bias and GELU by kernels");
  EXPECT_THAT(fake_cublaslt().products, IsEmpty()) << "asking runs nothing";
}

/// Whichever way is faster, the result is that of the first call, and what is added to is added to
/// once.
TEST_F(CudaEpilogue, timing_the_ways_leaves_no_trace_in_results) {
  const ::bertbench::test::ScratchFolder folder;
  MatmulOptions options;
  options.algorithm_cache = folder.path("algorithms");
  for (const Kind kind : {Kind::gelu, Kind::gelu_backward, Kind::weight}) {
    Around<float, float> timed(kind, {}, DType::f32, DType::f32);
    Around<float, float> once(kind, {}, DType::f32, DType::f32);
    make_matmul(options)->run(timed.product, nullptr);
    make_matmul(options_of(Epilogues::kernels))->run(once.product, nullptr);
    EXPECT_LE(difference(timed.c, once.c), 1e-6);
    EXPECT_LE(difference(timed.aux, once.aux), 1e-6);
    EXPECT_LE(difference(timed.sums, once.sums), 1e-6);
  }
  EXPECT_GT(fake_cublaslt().products[fakes::kBgradB], 1) << "both were timed";
  EXPECT_GT(fake_cublaslt().products[fakes::kDefault], 3);
  const std::string text = ::bertbench::test::read_file(options.algorithm_cache);
  EXPECT_THAT(text, HasSubstr(",gelu_backward+sums,256,256,way "));
}

TEST_F(CudaEpilogue, products_of_16_bits_keep_partial_sums_in_fp32) {
  Around<Bf16, Bf16> product(Kind::bias, {}, DType::bf16, DType::bf16);
  make_matmul(options_of(Epilogues::automatic))->run(product.product, nullptr);
  EXPECT_EQ(fake_cublaslt().in_place, 0);
}

/// The file of algorithms: what was searched is found again, under a key that names the epilogue.
TEST_F(CudaEpilogue, searched_algorithms_are_kept_by_shape_and_epilogue) {
  const ::bertbench::test::ScratchFolder folder;
  MatmulOptions options;
  options.epilogues = Epilogues::inside;
  options.algorithm_cache = folder.path("algorithms");
  options.device = "Some GPU";
  const auto result = [&](Kind kind) {
    Around<Bf16, Bf16> run(kind, {}, DType::bf16, DType::bf16);
    make_matmul(options)->run(run.product, nullptr);
    Values<float> out;
    for (const Bf16 x : run.c) out.push_back(to_float(x));
    out.insert(out.end(), run.sums.begin(), run.sums.end());
    return out;
  };
  const auto gelu = result(Kind::gelu);
  const auto backward = result(Kind::gelu_backward);
  EXPECT_EQ(fake_cublaslt().heuristics, 2);
  const std::string text = ::bertbench::test::read_file(options.algorithm_cache);
  EXPECT_THAT(text, HasSubstr("Some_GPU,rules2,lt130100,24x40x16,nn,bf16-bf16"));
  EXPECT_THAT(text, HasSubstr(",bias+gelu,"));
  EXPECT_THAT(text, HasSubstr(",gelu_backward+sums,"));
  EXPECT_EQ(result(Kind::gelu), gelu);
  EXPECT_EQ(result(Kind::gelu_backward), backward);
  EXPECT_EQ(fake_cublaslt().heuristics, 2) << "nothing is searched again";
  EXPECT_EQ(fake_cublaslt().checks, 2);
}

/// A product of ones in 8 bits.
struct Ones {
  Values<std::uint8_t> a = Values<std::uint8_t>(16 * 32, 0x3c);  // E5M2
  Values<std::uint8_t> b = Values<std::uint8_t>(48 * 32, 0x38);  // E4M3
  Values<float> c = Values<float>(16 * 48);
  Values<float> scales = Values<float>(8, 3.0F);
  Product product;

  Ones() {
    Product& p = product;
    p.transpose_b = true;
    p.m = 16;
    p.n = p.ldc = 48;
    p.k = p.lda = p.ldb = 32;
    p.a = a.data();
    p.b = b.data();
    p.c = c.data();
    p.type = DType::bf16;
    p.a_format = Fp8::e5m2;
    p.b_format = Fp8::e4m3;
    p.a_scale = scales.data();
    p.b_scale = scales.data() + 4;
    scales[4] = 0.5F;
  }
};

TEST_F(CudaEpilogue, after_the_end_of_the_search_the_file_is_read_and_no_more_is_timed) {
  const ::bertbench::test::ScratchFolder folder;
  MatmulOptions options;
  options.epilogues = Epilogues::inside;
  options.algorithm_cache = folder.path("algorithms");
  const auto lines = [&] {
    const std::string text = ::bertbench::test::read_file(options.algorithm_cache);
    return std::count(text.begin(), text.end(), '\n');
  };
  using F = Around<float, float>;
  F known(Kind::bias, {}, DType::f32, DType::f32);
  F other(Kind::bias, {48, 40, 16}, DType::f32, DType::f32);
  const auto matmul = make_matmul(options);
  matmul->run(known.product, nullptr);
  const auto searched = lines();
  EXPECT_GT(searched, 0);
  matmul->end_search();
  fake_cublaslt().products.clear();
  matmul->run(other.product, nullptr);
  matmul->run(known.product, nullptr);
  EXPECT_EQ(lines(), searched);
  EXPECT_THAT(fake_cublaslt().products, ElementsAre(Pair(fakes::kBias, 2))) << "one run each";
}

TEST_F(CudaEpilogue, products_in_8_bits_are_times_both_scales) {
  Ones ones;
  make_matmul({})->run(ones.product, nullptr);
  EXPECT_THAT(ones.c, Each(32 * 3.0F * 0.5F));
}

/// Found on an H200: the heuristic offers an algorithm, which then does not run.
TEST_F(CudaEpilogue, a_scale_whose_address_is_no_multiple_of_16_is_refused) {
  Ones ones;
  ++ones.product.b_scale;
  EXPECT_THROW(make_matmul({})->run(ones.product, nullptr), std::runtime_error);
  EXPECT_THAT(fake_cublaslt().faults, ElementsAre("address of a scale"));
  fake_cublaslt().faults.clear();
}

// ---- The whole backend on it. ----

double gradient_error(const BackendOptions& options, const std::string& precision,
                      std::string* where) {
  const Batch batch = bert::testing::make_batch(options.model, options.micro_batch_size,
                                                options.sequence_length, 4);
  const auto backend = bert::testing::cuda_backend(options, precision);
  const auto weights = bert::testing::state_of(*backend, StateArray::weights);
  // Twice, so that the second adds to the first: biases' gradients too.
  backend->zero_gradients();
  for (int i = 0; i < 2; ++i) backend->forward_backward(batch, 0.5, true, 3, {});
  const auto gradients = bert::testing::state_of(*backend, StateArray::gradients);
  const auto exact = bert::testing::reference_gradients(options, batch, weights, 3);
  const auto worst =
      bert::testing::worst_error(backend->parameters(), gradients.data(), exact.data());
  *where = options.model.name + " " + worst.name;
  return worst.error;
}

TEST_F(CudaEpilogue, gradients_of_whole_models_hold_the_bounds_either_way) {
  ModelConfig tanh_bert = bert::testing::even_model();
  tanh_bert.name = "tanh";
  tanh_bert.gelu = Gelu::tanh;
  for (const ModelConfig& model :
       {bert::testing::even_gpt2(), tanh_bert, bert::testing::even_model()}) {
    BackendOptions options = bert::testing::options_for(model, 3, 24);
    for (const auto& [precision, bound] : std::initializer_list<std::pair<const char*, double>>{
             {"fp32", 1e-5}, {"tf32", 2e-3}, {"bf16", 3e-2}, {"fp16", 5e-3}}) {
      for (const bool inside : {true, false}) {
        if (!inside && model.name != tanh_bert.name) continue;  // one model is enough
        options.matmul_epilogues = inside ? Epilogues::inside : Epilogues::kernels;
        fake_cublaslt().products.clear();
        std::string where;
        EXPECT_LE(gradient_error(options, precision, &where), bound)
            << where << " " << precision << (inside ? " inside" : " by kernels");
        const auto& products = fake_cublaslt().products;
        if (!inside) {
          EXPECT_THAT(products, ElementsAre(Key(fakes::kDefault)));
          continue;
        }
        const bool tanh = model.gelu == Gelu::tanh;
        EXPECT_EQ(products.contains(fakes::kGeluAuxBias), tanh);
        const bool half = std::string(precision) == "fp16";
        EXPECT_EQ(products.contains(half ? fakes::kDGelu : fakes::kDGeluBgrad), tanh);
        EXPECT_THAT(products, Contains(Key(fakes::kBias)));
        // The tensor-core attention of 16 bits leaves the sums of query, key and value itself, and
        // a GPT-2 has no other weights with a bias whose gradient is a product's own.
        const bool sums_left = model.objective != Objective::next_word ||
                               std::string(precision) == "fp32" || std::string(precision) == "tf32";
        EXPECT_EQ(products.contains(fakes::kBgradB), sums_left);
      }
    }
  }
}

TEST_F(CudaEpilogue, gradients_of_whole_models_in_8_bits_hold_the_bound) {
  for (const ModelConfig& model : {bert::testing::even_gpt2(), bert::testing::even_model()}) {
    BackendOptions options = bert::testing::options_for(model, 3, 24);
    options.matmul_epilogues = Epilogues::inside;
    fake_cublaslt().eight_bits = 0;
    std::string where;
    EXPECT_LE(gradient_error(options, "fp8", &where), 1.5e-1) << where;
    // Two micro-steps, and in each three products of a layer's four weights.
    EXPECT_EQ(fake_cublaslt().eight_bits, 2 * 3 * 4 * model.layers);
  }
}

TEST_F(CudaEpilogue, products_of_a_graph_have_the_addresses_that_were_recorded) {
  for (const char* precision : {"bf16", "fp8"}) {
    std::vector<std::vector<float>> gradients;
    for (const CudaGraphs graphs : {CudaGraphs::off, CudaGraphs::on}) {
      BackendOptions options = bert::testing::options_for(bert::testing::even_gpt2(), 2, 16);
      options.matmul_epilogues = Epilogues::inside;
      options.cuda_graph = graphs;
      const auto backend = bert::testing::cuda_backend(options, precision);
      for (std::int64_t step = 1; step <= 5; ++step) {
        backend->zero_gradients();
        for (std::int64_t k = 0; k < 2; ++k) {
          const Batch batch = bert::testing::make_batch(options.model, 2, 16, 0, 4 * step + 2 * k);
          backend->forward_backward(batch, 0.5, true, step, {});
        }
      }
      gradients.push_back(bert::testing::state_of(*backend, StateArray::gradients));
    }
    EXPECT_EQ(gradients[1], gradients[0]) << precision;
  }
}

TEST_F(CudaEpilogue, the_log_says_what_is_inside) {
  BackendOptions options = bert::testing::options_for(bert::testing::even_gpt2(), 2, 16);
  options.matmul_epilogues = Epilogues::inside;
  const auto settings = [&] { return bert::testing::cuda_backend(options, "tf32")->settings(); };
  EXPECT_THAT(settings(),
              ::testing::IsSupersetOf(
                  {"query, key, value: bias inside", "feed-forward: bias and GELU inside",
                   "gradient of query, key, value: bias gradient inside",
                   "gradient of feed-forward: GELU backward and bias gradient inside"}));
  fake_cublaslt().refused = {fakes::kBgradB};
  EXPECT_THAT(settings(), Contains("gradient of query, key, value: bias gradient by kernels"));
  options.inference = true;
  EXPECT_THAT(settings(), Not(Contains(HasSubstr("gradient"))));
}

}  // namespace
}  // namespace bert::cuda
